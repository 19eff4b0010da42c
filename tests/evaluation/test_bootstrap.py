"""The interval is as wide as the means of other draws of the same kind spread."""

import numpy as np
import pytest

from seqkit.evaluation.bootstrap import interval
from seqkit.evaluation.score import Score
from seqkit.symbols import Floats, Integers

RNG = np.random.default_rng(5)


def score(nats: Floats, documents: Integers | None = None) -> Score:
    """A score of blocks of 1000 symbols, all of one document by default."""
    numbers = np.zeros(len(nats), np.int64) if documents is None else documents
    return Score(nats.astype(np.float64), np.full(len(nats), 1000), numbers)


def test_documents_of_known_spread() -> None:
    lengths = RNG.integers(1, 9, 400)  # blocks of each
    means = RNG.normal(2.0, 0.3, 400)
    found = interval(score(1000 * np.repeat(means, lengths), np.repeat(np.arange(400), lengths)))
    assert found is not None
    assert (found.unit, found.count) == ("documents", 400)
    center = (lengths * means).sum() / lengths.sum()
    error = np.sqrt((lengths**2 * (means - center) ** 2).sum()) / lengths.sum()
    assert found.low == pytest.approx(center - 1.96 * error, abs=0.15 * error)
    assert found.high == pytest.approx(center + 1.96 * error, abs=0.15 * error)


def test_neighbours_that_are_alike_make_it_wider() -> None:
    steps = RNG.normal(size=3200)
    smooth = np.convolve(steps, np.ones(60) / 60**0.5, "same")  # the same spread, correlated
    widths = []
    for nats in (steps, smooth):
        found = interval(score(2000 + 100 * nats))
        assert found is not None
        assert (found.unit, found.count) == ("blocks", 32)
        widths.append(found.high - found.low)
    assert widths[1] > 3 * widths[0]


def test_it_is_the_same_again() -> None:
    nats = RNG.normal(2000, 100, 77)
    assert interval(score(nats)) == interval(score(nats))


def test_of_a_few_words_there_is_none() -> None:
    assert interval(score(np.ones(31))) is None


def test_very_many_documents_are_drawn_in_groups() -> None:
    found = interval(score(RNG.normal(2000, 100, 25_000), np.arange(25_000)))
    assert found is not None
    assert (found.unit, found.count) == ("documents", 10_000)
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.1 / 25_000**0.5, rel=0.2)
