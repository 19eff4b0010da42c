"""Nats are added up in any order; the interval is as wide as the means of other draws spread."""

import numpy as np
import pytest

from seqkit.data.corpus import Part
from seqkit.evaluation.scoring import Score, total
from seqkit.symbols import Floats

RNG = np.random.default_rng(5)


@pytest.mark.parametrize("length", [1, 31, 33, 75_003])
def test_every_symbol_is_counted_once(length: int) -> None:
    nats = np.random.default_rng(1).exponential(size=length).astype(np.float32)
    drawn = np.array_split(np.random.default_rng(2).permutation(length), 7)
    part = Part.of(np.zeros(length, np.uint8))
    score = total(part, ((some, nats[some]) for some in drawn))
    assert score.symbols == length
    assert score.loss == pytest.approx(nats.mean(), rel=1e-5)
    assert (score.interval is None) == (length < 32)


def interval_of(nats: Floats) -> list[float]:
    """The interval of a part of 32 blocks with these nats, 1000 symbols each."""
    found = Score((1000 * nats).astype(np.float64), np.full(32, 1000)).interval
    assert found is not None
    return found


def test_blocks_of_known_spread() -> None:
    means = RNG.normal(2.0, 0.3, 32)
    low, high = interval_of(means)
    error = means.std() / 32**0.5
    assert low == pytest.approx(means.mean() - 1.96 * error, abs=0.15 * error)
    assert high == pytest.approx(means.mean() + 1.96 * error, abs=0.15 * error)


def test_neighbours_that_are_alike_make_it_wider() -> None:
    steps = RNG.normal(size=3200)
    smooth = np.convolve(steps, np.ones(60) / 60**0.5, "same")  # the same spread, correlated
    widths = [np.ptp(interval_of(nats.reshape(32, -1).mean(1))) for nats in (2 + steps, 2 + smooth)]
    assert widths[1] > 3 * widths[0]
