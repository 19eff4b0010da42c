"""The yardsticks are what they say: compared with the same counting, symbol by symbol."""

import numpy as np
import pytest

from seqkit.data.codecs import Linear, MuLaw
from seqkit.data.corpus import Part
from seqkit.evaluation import baselines


def part(symbols: list[int], *starts: int) -> Part:
    return Part(np.array(symbols, np.uint8), np.array([0, *starts], np.int64))


def counted(symbols: list[int], starts: set[int], size: int) -> float:
    """The model of the docstring, with dictionaries."""
    counts: dict[tuple[int, ...], int] = {}
    bits = 0.0
    for place, now in enumerate(symbols):
        one = size if place in starts else symbols[place - 1]
        two = size if place in starts or place - 1 in starts else symbols[place - 2]
        p = (counts.get((now,), 0) + 1 / size) / (place + 1)
        for context in ((one, -1), (two, one, -1)):
            seen = (*context[:-1], now, -2)
            p = (counts.get(seen, 0) + 64 * p) / (counts.get(context, 0) + 64)
            counts[seen] = counts.get(seen, 0) + 1
            counts[context] = counts.get(context, 0) + 1
        counts[(now,)] = counts.get((now,), 0) + 1
        bits -= np.log2(p)
    return bits / len(symbols)


def test_the_context_model_is_the_one_of_its_equations() -> None:
    symbols = np.random.default_rng(3).integers(0, 5, 400).tolist()
    starts = (7, 8, 10, 300, 399)
    expected = counted(symbols, {0, *starts}, 5)
    assert baselines.context_bits(part(symbols, *starts), 5) == pytest.approx(expected)


def test_a_pattern_of_two_symbols_is_found() -> None:
    symbols = [0, 1, 1, 0] * 5000
    assert baselines.context_bits(part(symbols), 2) < 0.1
    assert baselines.histogram_bits(np.array(symbols, np.uint8), 2) == pytest.approx(1)


def test_flac_packs_what_it_can_predict() -> None:
    codec = MuLaw(256, 8000)
    time = np.arange(40_000) / 8000
    tone = codec.encode((0.4 * np.sin(2 * np.pi * 200 * time)).astype(np.float32))
    noise = np.random.default_rng(1).integers(0, 256, 40_000).astype(np.uint8)
    assert baselines.flac_bits(tone, codec) < 5.5
    assert 8 <= baselines.flac_bits(noise, codec) < 8.1
    wide = np.random.default_rng(1).integers(0, 65536, 40_000).astype(np.uint16)
    assert 16 <= baselines.flac_bits(wide, Linear(65536, 8000)) < 16.2
