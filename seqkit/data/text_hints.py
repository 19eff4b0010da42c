"""Texts that can be read, and were probably meant to be read otherwise."""

import codecs
import contextlib
import itertools
import json
import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data import csv_tables
from seqkit.data.bad_files import BadFileError
from seqkit.data.files import blocks, head
from seqkit.data.text_reading import (
    LOOKED_AT,
    begins_as_utf8,
    reads_as_utf8,
    reads_as_windows,
)

_FILES, _LINES = 20, 20
"""How many files are looked at, and how many lines of each table."""
_SHOWN = 5  # columns
_MARKUP = {"RTF": ("{\\rtf",), "HTML": ("<!doctype html", "<html")}
"""How documents with markup begin."""


def of(files: Collection[Path], config: DataConfig, *, tables: bool = True) -> list[str]:
    """What there is to say of these files, in a line each, by how they begin.

    `tables`: look for lines of JSON and CSV, and for markup, too.
    """
    lines = [
        _as_utf8(files, config) or _as_broken_utf8(files, config) or _as_windows(files, config)
    ]
    if tables:
        lines += [_as_table(files, config), _as_markup(files, config)]
    return [line for line in lines if line]


def _as_utf8(files: Collection[Path], config: DataConfig) -> str:
    """Where another encoding is asked for, how many of the first files are in UTF-8.

    Any bytes are text in Latin-1, so that nothing else would tell.
    """
    if not _may_be_utf8(config):
        return ""
    shown, all_of_them = _those(files, reads_as_utf8)
    if not shown:
        return ""
    advice = "give data.encoding=utf-8"
    if not all_of_them:
        advice = "data.encoding=utf-8 data.on_bad_file=skip reads only such files"
    return (
        f"{shown} can be read as UTF-8, too, and would then have other "
        f"characters than with data.encoding={config.encoding}: {advice}"
    )


def _as_broken_utf8(files: Collection[Path], config: DataConfig) -> str:
    """Where another encoding is asked for, how many of the first files only begin in UTF-8."""
    if not _may_be_utf8(config):
        return ""
    shown, _ = _those(files, begins_as_utf8)
    if not shown:
        return ""
    return (
        f"there is UTF-8 at the beginning of {shown}, up to a byte that is none; it has other "
        f"characters with data.encoding={config.encoding}: data.encoding=utf-8 names that byte"
    )


def _may_be_utf8(config: DataConfig) -> bool:
    """Whether files are read in an encoding that UTF-8 might be taken for."""
    return not config.of_rows and not codecs.lookup(config.encoding).name.startswith("utf")


def _as_windows(files: Collection[Path], config: DataConfig) -> str:
    """Where Latin-1 is asked for, how many of the first files are rather in Windows-1252."""
    if config.of_rows or codecs.lookup(config.encoding).name != "iso8859-1":
        return ""
    shown, _ = _those(files, reads_as_windows)
    if not shown:
        return ""
    return (
        f"{shown} can be read as Windows-1252, too, and would then have punctuation, as “ and …, "
        "in the place of control characters (U+0080 to U+009F): give data.encoding=cp1252"
    )


def _those(files: Collection[Path], found: Callable[[bytes], bool]) -> tuple[str, bool]:
    """The files in whose beginning something is found, in words, and whether that is so of all.

    Only the first files are looked at: it is done at every start, and in each process.
    """
    looked_at = [*itertools.islice(files, _FILES)]
    those = [file for file in looked_at if found(_looked_at(file))]
    if not those:
        return "", False
    more = f" and {len(those) - 1} more" if len(those) > 1 else ""
    first = "the first " if len(looked_at) < len(files) else ""
    shown = f"{len(those)} of {first}{len(looked_at)} files" if len(files) > 1 else "the file"
    return f"{shown} ({those[0]}{more})", len(those) == len(looked_at)


def _looked_at(file: Path) -> bytes:
    """The beginning of a file; nothing of one that cannot be read."""
    with contextlib.suppress(BadFileError):
        return b"".join(blocks(file, end=LOOKED_AT))
    return b""


def _as_table(files: Collection[Path], config: DataConfig) -> str:
    """Where all files are JSON objects, or CSV, how to learn from one of their columns."""
    if config.of_rows or len(config.path) != 1 or not files:
        return ""
    endings = {file.suffix for file in files}  # the library goes by them, too
    path, begins = config.path[0], {f: _beginning(f) for f in itertools.islice(files, _FILES)}
    if endings <= {".jsonl", ".json"}:
        fields = [_fields(begin) for begin in begins.values()]
        return _advice("the data are JSON objects", "field", path, fields)
    return _as_csv(begins, path) if endings == {".csv"} else ""


def _as_csv(begins: Mapping[Path, str], path: str) -> str:
    """Where all files are CSV, by their beginnings, how to learn from a column, or why not."""
    tables = {file: csv_tables.first_rows(begin) for file, begin in begins.items()}
    with_semicolons = [
        _width(csv_tables.first_rows(begins[file], ";")) > max(1, _width(rows))
        for file, rows in tables.items()
    ]
    if all(with_semicolons):
        return (
            "each line is a row of a table with ; between its columns: to learn the text of one, "
            "save it with commas, or as lines of JSON, for data.kind=hf"
        )
    if any(with_semicolons) or not all(tables.values()):
        return ""
    for file, rows in tables.items():
        if len(rows[0]) > 1 and csv_tables.begins_with_values(rows):
            return (
                f"each line is a row of a table, and the first row of {file} looks like values, "
                f"not like the names of columns: to learn the text of one, put a line of "
                f"{len(rows[0])} names in front and give data.kind=hf "
                f"data.path={shlex.quote(path)} data.column=NAME"
            )
    columns = [_columns(rows) for rows in tables.values()]
    if all(columns) and not set.intersection(*map(set, columns)):
        one, column = next(iter(tables)), _column(columns[:1])
        other = next(file for file, has in zip(tables, columns, strict=True) if column not in has)
        told = f"{one} has {_shown(tables[one])}; {other} has {_shown(tables[other])}"
        return _advice(f"no column is in all files: {told}", "column", str(one), columns[:1])
    return _advice("each line is a row of a table", "column", path, columns)


def _advice(told: str, part: str, path: str, found: Sequence[Counter[str]]) -> str:
    """How to learn from the column of text of all tables."""
    column = _column(found)
    if not column:
        return ""
    keys = f"data.path={shlex.quote(path)} data.column={shlex.quote(column)}"
    return f"{told}: to learn the text of one {part}, give data.kind=hf {keys}"


def _column(found: Sequence[Counter[str]]) -> str:
    """The column in all tables that is called text, or is the longest; empty if there is none."""
    sizes = sum(found, Counter[str]())
    names = set.intersection(*map(set, found))
    return "text" if "text" in names else max(sorted(names), key=sizes.__getitem__, default="")


def _as_markup(files: Collection[Path], config: DataConfig) -> str:
    """Where all files are RTF, or HTML, that their markup would be learnt."""
    begins = [_beginning(file).lstrip().lower() for file in itertools.islice(files, _FILES)]
    for name, marks in _MARKUP.items():
        if begins and not config.of_rows and all(begin.startswith(marks) for begin in begins):
            return f"the data are {name}, whose markup is learnt, too: save them as plain text"
    return ""


def _beginning(file: Path) -> str:
    """The text at the beginning of a file."""
    with contextlib.suppress(BadFileError):
        return head(file).decode("utf-8-sig", "replace")
    return ""


def _first_lines(text: str) -> list[str]:
    """Whole lines at the beginning of a text."""
    lines = text.splitlines(keepends=True)
    return [line for line in lines if line.endswith("\n") and line.strip()][:_LINES]


def _fields(text: str) -> Counter[str]:
    """How long the texts in the fields of JSON objects are; nothing where there is anything else.

    The objects are in a line each, or in a list.
    """
    try:
        is_list = text.lstrip().startswith("[")
        rows = _first_items(text) if is_list else [*map(json.loads, _first_lines(text))]
    except (ValueError, RecursionError):  # the latter of very deep nesting
        return Counter()
    if not all(isinstance(row, dict) for row in rows):
        return Counter()
    return _sizes([{k: v for k, v in row.items() if isinstance(v, str)} for row in rows])


def _first_items(text: str) -> list[Any]:
    """The first items of a JSON list, whose end may be cut off. Raises ValueError for no list."""
    items: list[Any] = []
    decoder, rest = json.JSONDecoder(), text.lstrip()[1:].lstrip()
    item, end = decoder.raw_decode(rest)
    while len(items) < _LINES:
        items.append(item)
        rest = rest[end:].lstrip()
        if not rest.startswith(","):
            break
        rest = rest[1:].lstrip()
        try:
            item, end = decoder.raw_decode(rest)
        except ValueError:  # it goes on after what was looked at
            break
    return items


def _width(rows: Sequence[Sequence[str]]) -> int:
    return len(rows[0]) if len(rows) > 1 else 0


def _shown(rows: Sequence[Sequence[str]]) -> str:
    names = rows[0]
    return ", ".join(names[:_SHOWN]) + (" …" if len(names) > _SHOWN else "")


def _columns(rows: Sequence[Sequence[str]]) -> Counter[str]:
    """How long the columns of CSV are; nothing where it has no names in front."""
    names, *values = rows
    if not all(map(csv_tables.is_name, names)):
        return Counter()
    return _sizes([dict(zip(names, row, strict=True)) for row in values])


def _sizes(rows: Sequence[dict[str, str]]) -> Counter[str]:
    """How many characters each column has that all rows have."""
    common = set.intersection(*map(set, rows)) if rows else set()
    return Counter({name: sum(len(row[name]) for row in rows) for name in common})
