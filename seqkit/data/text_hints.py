"""Texts that can be read, and were probably meant to be read otherwise."""

import codecs
import contextlib
import csv
import itertools
import json
import shlex
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data.bad_files import BadFileError
from seqkit.data.files import blocks, head

_LOOKED_AT = 1 << 18  # bytes at the beginning of each file
_FILES, _LINES = 20, 20
"""How many files are looked at, and how many lines of each table."""


def of(files: Collection[Path], config: DataConfig, *, tables: bool = True) -> list[str]:
    """What there is to say of these files, in a line each, by how they begin.

    `tables`: look for lines of JSON and CSV, too.
    """
    lines = [_as_utf8(files, config), _as_table(files, config) if tables else ""]
    return [line for line in lines if line]


def _as_utf8(files: Collection[Path], config: DataConfig) -> str:
    """Where another encoding is asked for, how many of the first files are in UTF-8.

    Any bytes are text in Latin-1, so that nothing else would tell.
    """
    if config.of_rows or codecs.lookup(config.encoding).name.startswith("utf"):
        return ""
    looked_at = [*itertools.islice(files, _FILES)]  # at every start, and in each process
    found = [file for file in looked_at if _is_utf8(file)]
    if not found:
        return ""
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    first = "the first " if len(looked_at) < len(files) else ""
    shown = f"{len(found)} of {first}{len(looked_at)} files" if len(files) > 1 else "the file"
    advice = "give data.encoding=utf-8"
    if len(found) < len(looked_at):
        advice = "data.encoding=utf-8 data.on_bad_file=skip reads only such files"
    return (
        f"{shown} ({found[0]}{more}) can be read as UTF-8, too, and would then have other "
        f"characters than with data.encoding={config.encoding}: {advice}"
    )


def _is_utf8(file: Path) -> bool:
    """Whether a file begins with UTF-8 that is more than ASCII; a bounded part of it is read."""
    try:
        begin = b"".join(blocks(file, end=_LOOKED_AT))
        decoder = codecs.getincrementaldecoder("utf-8")()  # the end may cut a character
        return not begin.isascii() and not decoder.decode(begin).isascii()
    except (BadFileError, UnicodeDecodeError):
        return False


def _as_table(files: Collection[Path], config: DataConfig) -> str:
    """Where all files are lines of JSON, or CSV, how to learn from one of their columns."""
    if config.of_rows or len(config.path) != 1 or not files:
        return ""
    endings = {file.suffix for file in files}  # the library goes by them, too
    if endings <= {".jsonl", ".json"}:
        line, part, read = "a JSON object", "field", _fields
    elif endings == {".csv"}:
        line, part, read = "a row of a table", "column", _columns
    else:
        return ""
    found = [read(_first_lines(file)) for file in itertools.islice(files, _FILES)]
    sizes = sum(found, Counter[str]())
    names = set.intersection(*map(set, found))
    if not names:
        return ""
    column = "text" if "text" in names else max(sorted(names), key=sizes.__getitem__)
    keys = f"data.path={shlex.quote(config.path[0])} data.column={shlex.quote(column)}"
    return f"each line is {line}: to learn the text of one {part}, give data.kind=hf {keys}"


def _first_lines(file: Path) -> list[str]:
    """Whole lines at the beginning of a file."""
    with contextlib.suppress(OSError):
        lines = head(file).decode("utf-8-sig", "replace").splitlines(keepends=True)
        return [line for line in lines if line.endswith("\n") and line.strip()][:_LINES]
    return []


def _fields(lines: Iterable[str]) -> Counter[str]:
    """How long the texts in the fields of JSON objects are; nothing where a line is none."""
    rows = []
    for line in lines:
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):  # the latter of very deep nesting
            return Counter()
        if not isinstance(row, dict):
            return Counter()
        rows.append({name: value for name, value in row.items() if isinstance(value, str)})
    return _sizes(rows)


def _columns(lines: Iterable[str]) -> Counter[str]:
    """How long the columns of CSV are; nothing where it is none, or has no names in front."""
    try:
        names, *rows = csv.reader(lines, strict=True)
    except (ValueError, csv.Error):
        return Counter()
    if not all(names) or any(len(row) != len(names) for row in rows):
        return Counter()
    return _sizes([dict(zip(names, row, strict=True)) for row in rows])


def _sizes(rows: Sequence[dict[str, str]]) -> Counter[str]:
    """How many characters each column has that all rows have."""
    common = set.intersection(*map(set, rows)) if rows else set()
    return Counter({name: sum(len(row[name]) for row in rows) for name in common})
