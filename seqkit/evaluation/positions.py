"""Where a place of a text is: document, line and column."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seqkit.data.corpus import Part, Row

_BLOCK = 1 << 20  # symbols read at a time


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
