"""Nats are added up in any order; the interval is as wide as the means of other draws spread."""

import numpy as np
import pytest

from seqkit.data.corpus import Part
from seqkit.evaluation.score import BLOCKS, Score, Tally, interval
from seqkit.symbols import Floats, Integers

RNG = np.random.default_rng(5)


def part_of(*lengths: int) -> Part:
    return Part.of(*(np.zeros(length, np.uint8) for length in lengths))


@pytest.mark.parametrize("lengths", [(1,), (31,), (33,), (5000, 3, 70_000), (2,) * 50])
def test_every_symbol_is_in_one_block_of_its_document(lengths: tuple[int, ...]) -> None:
    part = part_of(*lengths)
    nats = np.random.default_rng(1).exponential(size=len(part)).astype(np.float32)
    tally = Tally(part)
    places = np.random.default_rng(2).permutation(len(part))
    for some in np.array_split(places, 7):
        tally.add(some, nats[some])
    score = tally.score()
    assert score.symbols == len(part)
    assert score.loss == pytest.approx(nats.mean(), rel=1e-5)
    assert len(score.block_nats) >= min(BLOCKS, len(part))
    for number, (first, length) in enumerate(zip(part.starts, lengths, strict=True)):
        own = score.block_documents == number
        assert score.block_symbols[own].sum() == length
        expected = nats[first : first + length].sum(dtype=np.float64)
        assert score.block_nats[own].sum() == pytest.approx(expected, rel=1e-9)


def score_of(nats: Floats, documents: Integers | None = None) -> Score:
    """A score of blocks of 1000 symbols, all of one document by default."""
    numbers = np.zeros(len(nats), np.int64) if documents is None else documents
    return Score(nats.astype(np.float64), np.full(len(nats), 1000), numbers)


def test_documents_of_known_spread() -> None:
    lengths = RNG.integers(1, 9, 400)  # blocks of each
    means = RNG.normal(2.0, 0.3, 400)
    found = interval(score_of(1000 * np.repeat(means, lengths), np.repeat(np.arange(400), lengths)))
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
        found = interval(score_of(2000 + 100 * nats))
        assert found is not None
        assert (found.unit, found.count) == ("blocks", 32)
        widths.append(found.high - found.low)
    assert widths[1] > 3 * widths[0]
