"""What the beginning of CSV tells of its rows and columns."""

import contextlib
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

_ROWS = 20  # that are looked at
_LONG_NAME = 60  # characters, more than the name of a column has


def first_rows(text: str, delimiter: str = ",") -> list[list[str]]:
    """The whole rows at the beginning of a text; none where they differ in length.

    A cell in quotes may hold line breaks, and the last row be cut off.
    """
    whole, ended, _ = text.rpartition("\n")
    lines = io.StringIO(whole + ended, newline="")
    rows = list[list[str]]()
    try:
        for row in csv.reader(lines, strict=True, delimiter=delimiter):
            if row:
                rows.append(row)
            if len(rows) == _ROWS:
                break
    except csv.Error:
        if lines.read(1):  # it is not for what was cut off
            return []
    return rows if all(len(row) == len(rows[0]) for row in rows) else []


def is_name(cell: str) -> bool:
    """Whether a column may be called so: not what looks like a value or a sentence."""
    return bool(cell) and not is_value(cell) and not cell.endswith((".", "!", "?"))


def is_value(cell: str) -> bool:
    """Whether a cell in the first row is hardly a name: a number, or a long text."""
    try:
        float(cell)
    except ValueError:
        return len(cell) >= _LONG_NAME
    return True


def with_columns(files: Sequence[Path], names: Sequence[str]) -> Iterator[Path]:
    """Those of some files of CSV that have these columns; not those whose first row is no CSV.

    Raises OSError.
    """
    for file in files:
        with (
            file.open(encoding="utf-8-sig", errors="replace", newline="") as lines,
            contextlib.suppress(csv.Error),  # of a cell beyond 128 KB, say
        ):
            if next(csv.reader(lines), []) == [*names]:
                yield file
