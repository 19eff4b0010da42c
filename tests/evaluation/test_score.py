"""Nats are added up block by block, in any order, and a block never crosses documents."""

import numpy as np
import pytest

from seqkit.data.corpus import Part
from seqkit.evaluation.score import BLOCKS, Tally


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
    assert tally.counted == len(part)
    score = tally.score()
    assert score.symbols == len(part)
    assert score.loss == pytest.approx(nats.mean(), rel=1e-5)
    assert len(score.block_nats) >= min(BLOCKS, len(part))
    for number, (first, length) in enumerate(zip(part.starts, lengths, strict=True)):
        own = score.block_documents == number
        assert score.block_symbols[own].sum() == length
        expected = nats[first : first + length].sum(dtype=np.float64)
        assert score.block_nats[own].sum() == pytest.approx(expected, rel=1e-9)


def test_what_is_taken_back_counts_no_more() -> None:
    part = part_of(3 * 4096 + 5)
    tally = Tally(part)
    tally.add(np.arange(len(part)), np.ones(len(part)))
    tally.take_back(4096, 8192)
    tally.add(np.arange(4096, 8192), np.full(4096, 3.0))
    score = tally.score()
    assert score.symbols == len(part)
    assert score.nats == len(part) + 2 * 4096
