"""Where a place of a text is: document, line and column."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seqkit.data.corpus import Part
from seqkit.symbols import Integers


class Position(NamedTuple):
    """All from 1; the column counts symbols."""

    document: int
    line: int
    column: int


class Lines:
    """Tells positions while a part is read from its begin to its end."""

    def __init__(self, part: Part, contents: Sequence[str | bytes]) -> None:
        """`contents` says what each symbol stands for."""
        self._part = part
        self._breaks = np.array([_line_breaks(content) for content in contents])
        self._place, self._known = 0, Position(1, 1, 1)

    def position(self, place: int) -> Position:
        """Of a place that does not come before the one that `advance` was told."""
        document = int(np.searchsorted(self._part.starts, place, side="right"))
        origin, line, column = self._place, self._known.line, self._known.column
        if document > self._known.document:
            origin, line, column = int(self._part.starts[document - 1]), 1, 1
        breaks = self._breaks[self._part.symbols[origin:place]]
        ends: Integers = np.flatnonzero(breaks)
        if len(ends):
            return Position(document, line + int(breaks.sum()), place - origin - int(ends[-1]))
        return Position(document, line, column + place - origin)

    def advance(self, place: int) -> None:
        """No place before this one is asked for any more."""
        self._place, self._known = place, self.position(place)


def _line_breaks(content: str | bytes) -> int:
    return content.count("\n") if isinstance(content, str) else content.count(b"\n")
