"""How much a score would differ on other text of the same kind: a bootstrap interval.

Documents are drawn with replacement, as many as there are, again and again; 95 % of the losses that
result lie within the interval. Of few documents, blocks of neighbouring symbols are drawn instead.
Nats are correlated over many thousands of symbols (a scene of one play is harder than a scene of
another), and blocks that are too short make the interval too narrow. So blocks are as long as they
can be if there are to be enough of them: see `docs/results.md` for what that changes.

The interval says nothing of another training: seeds differ, too.
"""

from dataclasses import dataclass

import numpy as np

from seqkit.evaluation.score import BLOCKS, Score
from seqkit.symbols import Integers

_MOST = 10_000  # documents that are drawn one by one; of more, neighbours are drawn together
_RESAMPLES = 2000
_LEVEL = 0.95


@dataclass(frozen=True)
class Interval:
    """Bounds of the mean nats per symbol, from `count` units: "documents" or "blocks"."""

    low: float
    high: float
    unit: str
    count: int


def interval(score: Score) -> Interval | None:
    """The 95 % interval of a score, the same at every call; None for fewer than 32 symbols."""
    documents = int(score.block_documents[-1]) + 1
    if documents >= BLOCKS:
        unit = "documents"
        begins = np.searchsorted(score.block_documents, np.arange(documents))
        begins = begins[_places(documents, min(documents, _MOST))]
    elif len(score.block_nats) >= BLOCKS:
        unit = "blocks"
        begins = _places(len(score.block_nats), BLOCKS)
    else:
        return None
    nats = np.add.reduceat(score.block_nats, begins)
    symbols = np.add.reduceat(score.block_symbols, begins)
    draw = np.random.default_rng(0)
    losses = np.empty(_RESAMPLES)
    for index in range(_RESAMPLES):
        drawn = draw.integers(0, len(begins), len(begins))
        losses[index] = nats[drawn].sum() / symbols[drawn].sum()
    low, high = np.quantile(losses, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
    return Interval(float(low), float(high), unit, len(begins))


def _places(count: int, groups: int) -> Integers:
    """Where groups begin that share out `count` things in a row as evenly as possible."""
    return np.arange(groups) * count // groups
