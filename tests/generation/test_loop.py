"""Loops: played round and round, their end goes over into their beginning."""

import numpy as np
import pytest

from seqkit.data.codecs import Spectral
from seqkit.data.sound import Frames
from seqkit.generation import generate as generating
from seqkit.generation.medium import Sound
from seqkit.symbols import Floats

RATE, WINDOW = 8000, 512
TIME = np.arange(5 * RATE) / RATE
TONE = 0.5 * np.sin(2 * np.pi * 223.7 * TIME)
NOTES = TONE * np.exp(-(TIME % 0.7) / 0.1) * (TIME % 0.7 > 0.01)


def fitted(wave: Floats) -> Spectral:
    return Spectral.fit(wave.reshape(len(wave), -1).astype(np.float32), RATE, WINDOW)


def looped(wave: Floats, codec: Spectral, seconds: float) -> Frames:
    """The frames of a loop of a wave (N,) or (N, C), whose length is checked."""
    symbols = codec.encode(wave.astype(np.float32)).astype(np.int64)
    blocks = iter(np.split(symbols[:, None], [4, 1004]))
    (made,) = generating.looped(blocks, codec, codec.symbols_of(seconds * RATE))
    frames = Sound(codec, loop=True).decode(made[:, 0]).reshape(-1, codec.channels)
    assert len(frames) == codec.samples_of(len(made))
    shortest = seconds - min(0.05, seconds / 10)
    assert shortest * RATE - codec.hop <= len(frames) <= seconds * RATE + codec.hop
    return frames


def around(frames: Frames, width: float) -> Frames:
    """So many seconds on both sides of the seam."""
    count = round(width * RATE)
    return np.concatenate([frames[-count:], frames[:count]])


def level(frames: Frames) -> float:
    return float(10 * np.log10(np.square(frames).mean()))


@pytest.mark.parametrize("channels", [1, 2])
def test_a_tone_goes_on(channels: int) -> None:
    wave = np.repeat(TONE[:, None], channels, 1)
    frames = looped(wave, fitted(wave), 2)
    seam = around(frames, 0.1)
    assert np.abs(np.diff(seam, 2, 0)).max() < 1.2 * np.abs(np.diff(frames, 2, 0)).max()
    assert np.abs(np.diff(seam, 2, 0)).max() < 0.05  # a cut has up to 1
    assert level(around(frames, 0.03)) == pytest.approx(level(frames), abs=1.5)


def test_the_seam_lies_where_a_note_recurs() -> None:
    """Notes that begin every 0.7 s, which the length of the loop is no multiple of."""
    frames = looped(NOTES, fitted(NOTES), 2.12)
    assert np.abs(np.diff(around(frames, 0.05), axis=0)).max() < 0.2


@pytest.mark.parametrize("frames", [0, 1, 30, 120])
def test_of_too_few_frames_all_are_the_loop(frames: int) -> None:
    """As many as there were when a signal came: less than the loop of two seconds, of 125."""
    codec = fitted(NOTES)
    made = codec.encode(NOTES.astype(np.float32))[: frames * codec.phases + 1].astype(np.int64)
    (loop,) = generating.looped(iter([made[:, None]]), codec, codec.symbols_of(2 * RATE))
    assert np.array_equal(loop[:, 0], made[:-1])
