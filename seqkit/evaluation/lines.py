"""Where a place of a text is: document, line and column."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seqkit.data.corpus import Part
from seqkit.symbols import Integers

_BLOCK = 1 << 20  # symbols read at a time


class Position(NamedTuple):
    """All from 1, as they are in the corpus and its document; the column counts symbols."""

    document: int
    line: int
    column: int


class Lines:
    """Tells positions while a part is read from its begin to its end."""

    def __init__(self, part: Part, contents: Sequence[str | bytes]) -> None:
        """`contents` says what each symbol stands for."""
        self._part = part
        self._breaks = np.array([_line_breaks(content) for content in contents])
        self._place, self._known = 0, self._first()

    def position(self, place: int) -> Position:
        """Of a place that does not come before the one that `advance` was told."""
        own = int(np.searchsorted(self._part.starts, place, side="right"))
        document = self._part.documents_before + own
        origin, line, column = self._place, self._known.line, self._known.column
        if document > self._known.document:
            origin, line, column = int(self._part.starts[own - 1]), 1, 1
        breaks = self._breaks[self._part.symbols[origin:place]]
        ends: Integers = np.flatnonzero(breaks)
        if len(ends):
            return Position(document, line + int(breaks.sum()), place - origin - int(ends[-1]))
        return Position(document, line, column + place - origin)

    def advance(self, place: int) -> None:
        """No place before this one is asked for any more."""
        self._place, self._known = place, self.position(place)

    def _first(self) -> Position:
        """Where the part begins, which may be in the middle of a document."""
        before, line, column = self._part.before, 1, 1
        for begin in range(0, len(before), _BLOCK):
            block = before[begin : begin + _BLOCK]
            breaks = self._breaks[block]
            ends = np.flatnonzero(breaks)
            line += int(breaks.sum())
            column = len(block) - int(ends[-1]) if len(ends) else column + len(block)
        return Position(self._part.documents_before + 1, line, column)


def _line_breaks(content: str | bytes) -> int:
    return content.count("\n") if isinstance(content, str) else content.count(b"\n")
