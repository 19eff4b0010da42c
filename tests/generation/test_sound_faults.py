"""The watch over sound: what is trouble, what is not, and what becomes of it."""

from collections.abc import Iterator

import numpy as np
import pytest

from seqkit.data.codecs import MuLaw
from seqkit.generation import sound_faults
from seqkit.symbols import Integers, Symbols

RATE = 200
CODEC = MuLaw(256, RATE, 2.0)


def noise(count: int, seed: int = 1) -> Integers:
    return np.random.default_rng(seed).integers(30, 226, count)


@pytest.mark.parametrize(
    ("symbols", "expected"),
    [
        (noise(RATE), None),
        (np.full(RATE, CODEC.start), "silence"),
        (np.full(RATE, 140), "silence"),  # a constant offset
        (CODEC.start + noise(RATE) % 3, "silence"),
        (np.where(noise(RATE) % 3 == 0, 255, noise(RATE)), "clipping"),
        (np.where(noise(RATE) % 9 == 0, 0, noise(RATE)), None),
        (np.tile(noise(37), 9)[:RATE], "a loop"),
        (np.tile(noise(100), 2), "a loop"),
        (np.tile([60, 190], 100), "a loop"),
        (np.concatenate([noise(10), np.tile(noise(37), 9)])[:RATE], None),
        (np.tile(noise(120), 2)[:RATE], None),
    ],
)
def test_what_is_trouble(symbols: Integers, expected: str | None) -> None:
    assert sound_faults.trouble(symbols.astype(np.int64), CODEC) == expected


def streams() -> Integers:
    """Two streams of seven and a half seconds; the second falls silent after 3.2 seconds."""
    first, second = noise(1500, 1), noise(1500, 2)
    second[640:] = CODEC.start
    return np.stack([first, second], 1)


def blocks(rows: Integers, sizes: int = 64) -> Iterator[Integers]:
    """The rows in blocks, the first one short as a sampler makes it."""
    yield from np.split(rows, range(1, len(rows), sizes))


PROMPT: Symbols = np.full(50, 77, np.uint8)


@pytest.mark.parametrize("sizes", [1, 333])
def test_trouble_is_reported_once_and_nothing_is_changed(sizes: int) -> None:
    notices: list[str] = []
    made = list(sound_faults.report(blocks(streams(), sizes), CODEC, PROMPT, notices.append))
    assert np.array_equal(np.concatenate(made), streams())
    assert notices == ["stream 2: silence at 4.2 s"]


def test_a_quiet_stream_is_told_in_the_end() -> None:
    loud, faint = (
        noise(1500),
        CODEC.encode(np.random.default_rng(1).normal(0, 0.005, 1500).astype(np.float32)),
    )
    rows, notices = np.stack([loud, faint.astype(np.int64)], 1), list[str]()
    list(sound_faults.report(blocks(rows), CODEC, PROMPT, notices.append))
    assert len(notices) == 1
    assert "stream 2 is quiet, its RMS is 0.010 of full scale" in notices[0]
