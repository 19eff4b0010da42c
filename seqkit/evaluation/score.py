"""The nats of a part, added up block by block while they are found, and what they come to.

How much a score would differ on other text of the same kind is told by a bootstrap interval.
Documents are drawn with replacement, as many as there are, again and again; 95 % of the losses that
result lie within the interval. Of few documents, blocks of neighbouring symbols are drawn instead.
Nats are correlated over many thousands of symbols (a scene of one play is harder than a scene of
another), and blocks that are too short make the interval too narrow. So blocks are as long as they
can be if there are to be enough of them: see `docs/measured/text.md` for what that changes.

The interval says nothing of another training: seeds differ, too.
"""

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seqkit.data.corpus import Part
from seqkit.evaluation import protocols
from seqkit.symbols import Floats, Integers

BLOCKS = 32
"""A part is counted in so many blocks at least, as long as it has so many symbols."""
_LARGEST = 1024  # symbols of a block
_MOST = 10_000  # documents that are drawn one by one; of more, neighbours are drawn together
_RESAMPLES = 2000
_LEVEL = 0.95


@dataclass(frozen=True)
class Score:
    """The nats of all symbols of a part, in K blocks, each of neighbours in one document.

    block_nats, block_symbols, block_documents (K,): of each block the sum of nats, the number of
        symbols, and the number of the document that it is of.
    """

    block_nats: npt.NDArray[np.float64]
    block_symbols: Integers
    block_documents: Integers

    @property
    def nats(self) -> float:
        """The sum over all symbols."""
        return float(self.block_nats.sum())

    @property
    def symbols(self) -> int:
        """How many were predicted."""
        return int(self.block_symbols.sum())

    @property
    def loss(self) -> float:
        """Mean nats per symbol."""
        return self.nats / self.symbols

    @property
    def bits_per_symbol(self) -> float:
        """Mean bits per symbol."""
        return self.loss / math.log(2)


class Tally:
    """Adds up the nats of a part's symbols as they come, in any order."""

    def __init__(self, part: Part) -> None:
        """Nothing is counted yet."""
        length = min(1 << max((len(part) // BLOCKS).bit_length() - 1, 0), _LARGEST)
        _, self._begins, ends = protocols.windowed(part, length).T
        self._symbols = ends - self._begins
        self._documents = np.searchsorted(part.starts, self._begins, side="right") - 1
        self._nats = np.zeros(len(self._begins))

    def add(self, places: Integers, nats: Floats) -> None:
        """Count the nats (n,) of the symbols at these places (n,) of the part."""
        np.add.at(self._nats, self._blocks(places), nats.astype(np.float64))

    def score(self) -> Score:
        """What was counted."""
        return Score(self._nats.copy(), self._symbols, self._documents)

    def _blocks(self, places: Integers) -> Integers:
        return np.searchsorted(self._begins, places, side="right") - 1


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
