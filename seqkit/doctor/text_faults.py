"""What is wrong with a text, in a line each, or was probably meant to be read otherwise."""

import codecs
import contextlib
import csv
import io
import itertools
import json
import shlex
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data.files import BadFileError, head
from seqkit.doctor.faults import CONSTANT, Fault
from seqkit.doctor.text import FEW, TextFacts
from seqkit.foundation.wording import counted

_SHORT = 50_000  # symbols from which a model learns more than words
_LONG_LINE = 10_000  # symbols
_REPEATED = 0.2
RETURN, _MARK = "U+000D", "U+FEFF"
"""The code points of CR and of the byte order mark, which have faults of their own."""
_C1 = "U+0080", "U+009F"
"""The first and the last of the control characters that nobody types."""
_RARE = 0.5  # of the vocabulary
_FILES = 20  # whose beginnings are looked at
_MARKUP = {"RTF": ("{\\rtf",), "HTML": ("<!doctype html", "<html")}
"""How documents with markup begin."""


def faults(
    found: TextFacts,
    kind: str,
    marked: int = 0,
    without_mark: str = "utf-8-sig",
    in_shards: bool = False,
) -> Iterator[Fault]:
    """The faults of a text, the worst first.

    Args:
        found: what `text.facts` found.
        kind: text or bytes.
        marked: how many documents begin with a byte order mark.
        without_mark: the encoding that leaves it out.
        in_shards: they are read as they were prepared, whatever keys are given.
    """
    advised = "prepare the data again with" if in_shards else "give"
    noun = "text" if kind == "text" else "content"
    occurring, symbols = int((found.counts > 0).sum()), int(found.counts.sum())
    if occurring == 1:
        yield Fault(CONSTANT)
        return
    if symbols < _SHORT:
        yield Fault(
            f"the {noun} is short, {symbols:,} symbols: below {_SHORT:,} a network learns it by "
            "heart before it learns to write; more of it helps most"
        )
    if found.repeated > _REPEATED:
        yield Fault(
            f"{found.repeated:.0%} of the passages of 32 symbols came before: copies in the {noun} "
            "make the validation look better than it is"
        )
    odd = {entry["code_point"]: entry for entry in found.odd}
    if returns := odd.pop(RETURN, None):
        yield Fault(
            f"{returns['count']:,} line ends have a CR, as on Windows or old Macs, which the model "
            f"would learn as a character: {advised} data.newline=lf",
            {"newline": "lf"},
        )
    if marked:
        odd.pop(_MARK)
        yield Fault(
            f"{counted(marked, 'file')} with a byte order mark ({_MARK}) at the beginning, which "
            f"the model would learn as a character: give data.encoding={without_mark}",
            {"encoding": without_mark},
        )
    if odd:
        first = next(iter(odd.values()))
        name = " ".join(filter(None, (first["code_point"], first["name"])))
        advice = "take them out if they mean nothing"
        if _C1[0] <= first["code_point"] <= _C1[1]:
            advice = "the text is probably in another encoding than data.encoding"
        yield Fault(
            f"{counted(len(odd), 'odd character')}, "
            f"{sum(entry['count'] for entry in odd.values()):,} in all, such as "
            f"{name} ({first['kind']}, {first['count']:,}): {advice}"
        )
    if kind != "text":
        return
    if found.rare > _RARE * occurring:
        most = max(1, occurring - found.rare)
        yield Fault(
            f"{found.rare:,} of {occurring:,} symbols occur fewer than {FEW} times, too few to "
            f"learn: {advised} data.max_vocabulary={most} data.unknown=skip to leave them out"
        )
    if found.longest_line > _LONG_LINE:
        yield Fault(
            f"the longest line has {found.longest_line:,} symbols: are the line ends missing?"
        )


def file_faults(files: Collection[Path], config: DataConfig) -> Iterator[Fault]:
    """That files were meant to be read otherwise, by how the first of them begin."""
    begins = dict[Path, bytes]()
    for file in itertools.islice([] if config.of_rows else files, _FILES):
        with contextlib.suppress(BadFileError):
            begins[file] = head(file)
    texts = {file: begin.decode("utf-8-sig", "replace") for file, begin in begins.items()}
    lines = _encoding(begins, config.encoding), _table(texts, config.path), _markup(texts)
    yield from map(Fault, filter(None, lines))


def _encoding(begins: Mapping[Path, bytes], encoding: str) -> str:
    """Where another encoding is asked for, that files are UTF-8: any bytes are text in Latin-1."""
    if codecs.lookup(encoding).name.startswith("utf"):
        return ""
    those = [file for file, begin in begins.items() if _is_utf8(begin)]
    if not those:
        return ""
    told = f"{len(those)} of {len(begins)} files that were looked at, such as {those[0]}"
    return f"{told}, are UTF-8, not {encoding}: give data.encoding=utf-8"


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
