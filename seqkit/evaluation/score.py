"""The nats of a part, added up block by block while they are found, and what they come to.

How much a score would differ on other text of the same kind is told by a bootstrap interval: 32
blocks of neighbouring symbols are drawn with replacement, again and again, and 95 % of the losses
that result lie within the interval. Nats are correlated over many thousands of symbols (a scene of
one play is harder than a scene of another), and blocks that are too short make the interval too
narrow. So blocks are as long as they can be if there are to be enough of them.

The interval says nothing of another training: seeds differ, too.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seqkit.data.corpus import Part
from seqkit.symbols import Floats, Integers

_BLOCKS = 32
_RESAMPLES = 2000
_WITHIN = 0.025, 0.975  # of the losses


@dataclass(frozen=True)
class Score:
    """The nats of all symbols of a part.

    block_nats, block_symbols (K,): of up to 32 blocks of neighbours that are as long, the sum of
        nats and the number of symbols.
    """

    block_nats: npt.NDArray[np.float64]
    block_symbols: Integers

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

    @property
    def interval(self) -> list[float] | None:
        """Bounds of the loss, the same at every call; None for fewer than 32 symbols."""
        if len(self.block_nats) < _BLOCKS:
            return None
        drawn = np.random.default_rng(0).integers(0, _BLOCKS, (_RESAMPLES, _BLOCKS))
        losses = self.block_nats[drawn].sum(1) / self.block_symbols[drawn].sum(1)
        return [float(bound) for bound in np.quantile(losses, _WITHIN)]


def total(part: Part, found: Iterable[tuple[Integers, Floats]]) -> Score:
    """The score of a part: its places (n,) and the nats (n,) of their symbols, in any order."""
    count = min(len(part), _BLOCKS)
    begins, sums = np.arange(count) * len(part) // count, np.zeros(count)
    for places, nats in found:
        blocks = np.searchsorted(begins, places, side="right") - 1
        np.add.at(sums, blocks, nats.astype(np.float64))
    return Score(sums, np.diff(begins, append=len(part)))
