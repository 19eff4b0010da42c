"""The places of a part that stand out, and where in its documents they are."""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from seqkit.data.corpus import Part, Row
from seqkit.symbols import Floats

_BLOCK = 1 << 20  # symbols read at a time

T = TypeVar("T")


class Peak(NamedTuple, Generic[T]):
    """A place, its value, and what was kept of its neighbourhood."""

    place: int
    value: float
    kept: T


class Peaks(Generic[T]):
    """Keeps the highest of values that come stretch by stretch."""

    def __init__(self, most: int, apart: int) -> None:
        """At most so many places, each at least `apart` from the others."""
        self._most = most
        self._apart = apart
        self._found: list[Peak[T]] = []

    def add(self, begin: int, values: Floats, keep: Callable[[int], T], spacing: int = 1) -> None:
        """Look at values (n,) of the places `begin`, `begin + spacing` …

        `keep` is asked about places that are among the highest so far.
        """
        step = max(1, self._apart // spacing)
        edges = range(0, len(values), step)
        rows = [edge + int(values[edge : edge + step].argmax()) for edge in edges]
        rows = sorted(rows, key=lambda row: -float(values[row]))[: 4 * self._most]
        known = {peak.place: peak for peak in self._found}
        found = {place: peak.value for place, peak in known.items()}
        found |= {begin + spacing * row: float(values[row]) for row in rows}
        chosen: list[int] = []
        for place in sorted(found, key=lambda place: (-found[place], place)):
            if len(chosen) < self._most and all(abs(place - p) >= self._apart for p in chosen):
                chosen.append(place)
        self._found = [
            known.get(place) or Peak(place, found[place], keep(place)) for place in chosen
        ]

    @property
    def highest(self) -> list[Peak[T]]:
        """The places that were found, the highest first."""
        return list(self._found)


class Position(NamedTuple):
    """All from 1, as they are in the corpus and its document; the column counts symbols."""

    document: int
    line: int
    column: int


def position(part: Part, newlines: npt.NDArray[np.int64], place: int) -> Position:
    """Of a place in a part, which may begin in the middle of a document.

    `newlines` (V,) counts the line ends that each symbol stands for.
    """
    own = int(np.searchsorted(part.starts, place, side="right"))
    begin, line, column = int(part.starts[own - 1]), 1, 1
    rows: list[tuple[Row, int, int]] = [(part.symbols, begin, place)]
    if own == 1:
        rows.insert(0, (part.before, 0, len(part.before)))
    for row, first, end in rows:
        for at in range(first, end, _BLOCK):
            counts = newlines[row[at : min(at + _BLOCK, end)]]
            ends = np.flatnonzero(counts)
            line += int(counts.sum())
            column = len(counts) - int(ends[-1]) if len(ends) else column + len(counts)
    return Position(part.documents_before + own, line, column)
