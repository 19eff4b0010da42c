"""The entropy coder gives back what it was given, in about as many bits as the symbols hold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seqkit.compression.rans import LEAST, MOST, TOTAL, Decoder, encode


@given(
    ways=st.integers(1, 5),
    rows=st.integers(1, 60),
    size=st.integers(1, 40),
    skew=st.floats(0.01, 3),
    seed=st.integers(0, 2**32),
)
def test_symbols_come_back(ways: int, rows: int, size: int, skew: float, seed: int) -> None:
    generator = np.random.default_rng(seed)
    shares = generator.dirichlet(np.full(size, skew), (rows, ways))
    counts = (shares * (TOTAL - size)).astype(np.int64) + 1
    bounds = np.concatenate([np.zeros((rows, ways, 1), np.int64), np.cumsum(counts, -1)], -1)
    bounds[..., -1] = TOTAL
    symbols = generator.integers(0, size, (rows, ways))
    lowers = np.take_along_axis(bounds, symbols[..., None], -1)[..., 0]
    widths = np.take_along_axis(bounds, symbols[..., None] + 1, -1)[..., 0] - lowers
    states, words = encode(lowers, widths)
    assert (states >= LEAST).all()
    assert (states < MOST).all()
    decoder = Decoder(states, words)
    assert all((decoder.take(row) == own).all() for row, own in zip(bounds, symbols, strict=True))
    bits = -np.log2(widths / TOTAL).sum()
    stored = 32 * len(words) + np.log2(states.astype(float)).sum() - math.log2(LEAST) * ways
    assert stored == pytest.approx(bits, abs=0.5 * ways + 1e-4 * bits)


def test_what_is_certain_costs_nothing() -> None:
    states, words = encode(np.zeros((1000, 3), np.int64), np.full((1000, 3), TOTAL))
    assert (states == LEAST).all()
    assert not words.size


def test_a_stream_that_ends_too_early_decodes_to_something() -> None:
    lowers = np.zeros((100, 2), np.int64)
    states, words = encode(lowers, lowers + TOTAL // 256)
    bounds = np.tile(np.array([0, TOTAL // 256, TOTAL]), (2, 1))
    decoder = Decoder(states, words[: len(words) // 2])
    assert all(decoder.take(bounds).shape == (2,) for _ in range(100))
