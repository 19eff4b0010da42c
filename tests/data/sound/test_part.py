"""Samples of a part are decoded where they are asked for, so that hours of sound need no memory."""

import numpy as np

from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.data.sound import stretch
from seqkit.data.sound.part import SoundPart

RATE = 400
CODEC = MuLaw(256, RATE, channels=2)


def sound(samples: int) -> SoundPart:
    time = np.arange(samples) / RATE
    wave = np.sin(2 * np.pi * np.stack([60 + 9 * (time // 7 % 2), 90 + 0 * time]) * time)
    wave[:, : RATE // 2] *= 1e-3
    return SoundPart(Part.of(CODEC.encode((0.4 * wave.T).astype(np.float32)), frame=2), CODEC)


def test_a_slice_gives_the_mean_of_all_channels() -> None:
    short = sound(1000)
    frames = CODEC.frames(short.part.symbols)
    assert len(short) == 1000
    assert np.array_equal(short[:], frames.mean(1))
    assert np.array_equal(short[990:2000], frames[990:].mean(1))
    assert np.array_equal(short.frames(3, 7), frames[3:7])
    assert [len(block) for block in short.blocks(600)] == [600, 400]
    assert np.array_equal(stretch(short, -5, 3), [0] * 5 + short[:3].tolist())
    assert np.array_equal(stretch(short, 998, 1003), short[998:].tolist() + [0] * 3)
