"""Samples of a part are decoded where they are asked for, so that hours of sound need no memory."""

import numpy as np
import pytest

from seqkit.data.codecs import MuLaw
from seqkit.data.corpus import Part
from seqkit.data.sound import Frames, pitch, slow_codes, stretch
from seqkit.data.sound.part import SoundPart, without_silence
from seqkit.symbols import Symbols

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


@pytest.mark.parametrize("kind", ["codes", "pitch"])
def test_long_sound_is_decoded_in_blocks(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    long, sizes, decode = sound(1 << 18), list[int](), CODEC.frames

    def counted(symbols: Symbols) -> Frames:
        sizes.append(len(symbols))
        return decode(symbols)

    monkeypatch.setattr(CODEC, "frames", counted)
    learnt = without_silence(long, 40)
    assert len(long) - len(learnt) == RATE // 2
    if kind == "pitch":
        book: slow_codes.Codebook = pitch.learn(learnt, RATE)
    else:
        book = slow_codes.learn(learnt, RATE, 1)
    codes, whole = book.codes(book.describe(learnt)), book.codes(book.describe(learnt[:]))
    assert np.array_equal(codes, whole)
    assert len(sizes) > 10
    assert max(sizes[:-1]) < len(long) / 2
