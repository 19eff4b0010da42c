"""Texts that can be read, and were probably meant to be read otherwise: what is said of them."""

import codecs
import contextlib
import csv
import io
import itertools
import json
import re
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data.files import BadFileError, head

_FILES = 20  # that are looked at
_C1 = re.compile(rb"[\x80-\x9f]")  # control characters in Latin-1
_MARKUP = {"RTF": ("{\\rtf",), "HTML": ("<!doctype html", "<html")}
"""How documents with markup begin."""


def of(files: Collection[Path], config: DataConfig) -> list[str]:
    """What there is to say of these files, in a line each, by how the first of them begin."""
    begins = dict[Path, bytes]()
    for file in itertools.islice([] if config.of_rows else files, _FILES):
        with contextlib.suppress(BadFileError):
            begins[file] = head(file)
    texts = {file: begin.decode("utf-8-sig", "replace") for file, begin in begins.items()}
    lines = [_encoding(begins, config.encoding), _table(texts, config.path), _markup(texts)]
    return [line for line in lines if line]


def _encoding(begins: Mapping[Path, bytes], encoding: str) -> str:
    """Where another encoding is asked for, that files are UTF-8: any bytes are text in Latin-1."""
    name = codecs.lookup(encoding).name
    if name.startswith("utf"):
        return ""
    if those := [file for file, begin in begins.items() if _is_utf8(begin)]:
        told = f"{len(those)} of {len(begins)} files that were looked at, such as {those[0]}"
        return f"{told}, are UTF-8, not {encoding}: give data.encoding=utf-8"
    if name == "iso8859-1" and any(map(_C1.search, begins.values())):
        return "control characters (U+0080 to U+009F) may be punctuation: give data.encoding=cp1252"
    return ""


def _is_utf8(begin: bytes) -> bool:
    """Whether bytes, whose end may cut a character, are UTF-8 that is more than ASCII."""
    with contextlib.suppress(UnicodeDecodeError):
        return not codecs.getincrementaldecoder("utf-8")().decode(begin).isascii()
    return False


def _table(texts: Mapping[Path, str], paths: list[str]) -> str:
    """Where all files are CSV, or lines or a list of JSON objects, how to learn from a column."""
    rows = [_first_row(file, text) for file, text in texts.items()]
    if len(paths) != 1 or not rows or not all(rows):
        return ""
    columns = set.intersection(*map(set, rows))
    longest = max(columns, key=lambda name: (len(rows[0][name]), name), default="")
    column = "text" if "text" in columns else longest
    if not column:
        return "no column is in all of the tables: give data.path=FILE of one of them"
    keys = f"data.path={shlex.quote(paths[0])} data.column={shlex.quote(column)}"
    return f"the data are tables: to learn the text of one column, give data.kind=hf {keys}"


def _first_row(file: Path, text: str) -> dict[str, str]:
    """The first row of a table, its texts by column; nothing where there is anything else."""
    row: Any = {}
    with contextlib.suppress(ValueError, RecursionError, csv.Error, StopIteration):
        if file.suffix in (".json", ".jsonl"):
            row, _ = json.JSONDecoder().raw_decode(text.lstrip("[ \r\n\t"))
        elif file.suffix == ".csv" and csv.Sniffer().has_header(text):
            row = next(csv.DictReader(io.StringIO(text, newline="")))
    return {k: v for k, v in row.items() if isinstance(v, str)} if isinstance(row, dict) else {}


def _markup(texts: Mapping[Path, str]) -> str:
    """Where all files are RTF, or HTML, that their markup would be learnt."""
    begins = [text.lstrip().lower() for text in texts.values()]
    for name, marks in _MARKUP.items():
        if begins and all(begin.startswith(marks) for begin in begins):
            return f"the data are {name}, whose markup is learnt, too: save them as plain text"
    return ""
