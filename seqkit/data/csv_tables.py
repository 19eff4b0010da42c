"""What the beginning of CSV tells of its rows and columns."""

import contextlib
import csv
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_ROWS = 20  # that are looked at
_LONG_NAME = 60  # characters, more than the name of a column has
_FRACTION = re.compile(r"-?\d*\.\d+")


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
    looks_like_value = _is_number(cell) or len(cell) >= _LONG_NAME
    return bool(cell) and not looks_like_value and not cell.endswith((".", "!", "?"))


def begins_with_values(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first row holds no names for certain: one number with a fraction, over numbers.

    Several such may well be names: quantiles, wavelengths, months. So may years, and questions.
    """
    first, *others = rows
    columns = [column for column, cell in enumerate(first) if _FRACTION.fullmatch(cell.strip())]
    if len(columns) != 1 or not others:
        return False
    return all(_is_number(row[columns[0]]) for row in others)


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


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
