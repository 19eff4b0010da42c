"""What a text is like: its characters, its lines, how much of it is there twice; its faults."""

import codecs
import contextlib
import csv
import itertools
import re
import unicodedata
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.advice import lists
from seqkit.advice.faults import CONSTANT, Fault
from seqkit.config import DataConfig
from seqkit.data.codecs import Characters, Codec
from seqkit.data.corpus import Part
from seqkit.data.files import BadFileError, encoding_with_mark, head
from seqkit.evaluation.baselines import COPIES
from seqkit.evaluation.recited import hashes_of, runs
from seqkit.foundation.wording import character_name, counted, first_of, percent
from seqkit.symbols import Integers

_SAMPLE = 1 << 24  # symbols among which repetitions are sought, from the first
_BLOCK = 1 << 15  # symbols counted at a time; larger ones fragment the process's memory
_REPEATED = 32  # symbols of a passage that is there twice
_KEPT = 64  # one passage of so many is compared, chosen by what it is
_FEW = 10  # times that a symbol has to occur at least to be learnt
_SHOWN_COUNTS = 1 << 16  # symbols of a vocabulary that are listed
_ODD_KINDS = {
    "Cc": "control character",
    "Cf": "invisible character",
    "Co": "private character",
    "Cs": "half of a surrogate pair",
    "Cn": "unassigned character",
}
_USUAL = "\n\t\u200c\u200d"  # the last two, ZWNJ and ZWJ, join letters of Persian, Hindi, emoji
_REPLACEMENT = "\ufffd"
_SHORT, _SHORT_LIST = 100_000, 20_000  # symbols, below which much is learnt by heart
_LONG_LINE = 10_000  # symbols
RETURN, _MARK = "U+000D", "U+FEFF"
"""The code points of CR and of the byte order mark, which have faults of their own."""
_RARE, _KNOWN, _LOST = 0.5, 0.9, 0.02  # of the vocabulary, and of all symbols
_FILES = 20  # whose beginnings are looked at
_TABLES = (".csv", ".json", ".jsonl")
_MARKUP = {"RTF": ("{\\rtf",), "HTML": ("<!doctype html", "<html")}
"""How documents with markup begin."""


@dataclass(frozen=True)
class TextFacts:
    """A text in numbers.

    counts: how often each symbol occurs, (V,).
    odd: characters that are seldom meant, the most frequent first: see `odd_characters`.
    lines, longest_line: how many there are, and the largest length in symbols.
    repeated: the share of passages of 32 symbols that came before, in a sample.
    sampled: symbols in that sample.
    marked: how many documents begin with a byte order mark.
    known: how many symbols are ASCII, as are those of the model `shakespeare`.
    """

    counts: Integers
    odd: list[dict[str, Any]]
    lines: int
    longest_line: int
    repeated: float
    sampled: int
    marked: int
    known: int

    @property
    def rare(self) -> int:
        """How many symbols occur, but fewer than 10 times."""
        return int(((self.counts > 0) & (self.counts < _FEW)).sum())

    def record(self, codec: Codec) -> dict[str, Any]:
        """As `doctor` gives it."""
        order = np.argsort(-self.counts, kind="stable")[:_SHOWN_COUNTS].tolist()
        counts = [[_name_of(codec, symbol), int(self.counts[symbol])] for symbol in order]
        return {
            "vocabulary": {
                "size": codec.size,
                "counts": [entry for entry in counts if entry[1]],
                "odd": self.odd,
                "rare": self.rare,
            },
            "lines": {"count": self.lines, "longest": self.longest_line},
            "repeated": {"share": self.repeated, "sample": self.sampled},
        }


def facts(part: Part, codec: Codec, watch: Callable[[int], None]) -> TextFacts:
    """The facts of a text; `watch` is told how many symbols were read."""
    newline = _newline(codec)
    counts: Integers = np.zeros(codec.size, np.int64)
    lines, longest = 0, 0
    begun = 0  # where the line that is going on began
    for begin in range(0, len(part), _BLOCK):
        block = part.symbols[begin : begin + _BLOCK]
        counts += np.bincount(block, minlength=codec.size)
        ends = block == newline
        edges = np.searchsorted(part.starts, (begin, begin + len(block)), side="right")
        last = part.starts[slice(*edges)] - 1  # a document ends a line, too
        ended = np.union1d(np.flatnonzero(ends) + begin, last)
        if ended.size:
            sizes = np.diff(ended, prepend=begun - 1) - ends[ended - begin]
            lines, longest = lines + len(sizes), max(longest, int(sizes.max()))
            begun = int(ended[-1]) + 1
        watch(begin + len(block))
    if begun < len(part):  # the last line has no end
        lines, longest = lines + 1, max(longest, len(part) - begun)
    vocabulary = codec.vocabulary if isinstance(codec, Characters) else ""
    marked = int((part.symbols[part.starts] == vocabulary.find("\ufeff")).sum())
    known = sum(int(counts[n]) for n, name in enumerate(vocabulary) if name.isascii())
    odd = odd_characters(counts, codec)
    return TextFacts(counts, odd, lines, longest, *repeated(part), marked, known)


def odd_characters(counts: Integers, codec: Codec) -> list[dict[str, Any]]:
    """Characters that are seldom meant: controls, invisible and private ones, odd spaces.

    Each with its count, code point and name, the most frequent first.
    """
    odd = []
    for symbol, character in enumerate(codec.vocabulary if isinstance(codec, Characters) else ""):
        category = unicodedata.category(character)
        kind = _ODD_KINDS.get(category, "") if character not in _USUAL else ""
        if character == _REPLACEMENT:
            kind = "mark of a character that was lost"
        elif category in ("Zs", "Zl", "Zp") and character != " ":
            kind = "odd space"
        if kind and counts[symbol]:
            odd.append(
                {
                    "character": repr(character)[1:-1],
                    "code_point": f"U+{ord(character):04X}",
                    "name": character_name(character),
                    "kind": kind,
                    "count": int(counts[symbol]),
                }
            )
    return sorted(odd, key=lambda entry: -int(entry["count"]))


def _name_of(codec: Codec, symbol: int) -> str:
    """A character, or a byte in hexadecimal."""
    if isinstance(codec, Characters):
        return codec.vocabulary[symbol]
    return f"0x{symbol:02x}" if codec.kind == "bytes" else str(symbol)


def _newline(codec: Codec) -> int:
    """The symbol of a line's end; -1 for none."""
    if isinstance(codec, Characters):
        return codec.vocabulary.find("\n")
    return 10 if codec.kind == "bytes" else -1


def repeated(part: Part) -> tuple[float, int]:
    """The share of passages that came before, and how many symbols were looked at.

    Of all passages those are compared whose hash is a multiple of 64: the same passage is chosen
    wherever it stands.
    """
    sampled, kept = min(len(part), _SAMPLE), [np.zeros(0, np.uint64)]
    for begin in range(0, sampled - _REPEATED + 1, _BLOCK):
        row = part.symbols[begin : min(begin + _BLOCK + _REPEATED - 1, sampled)]
        hashes = hashes_of(runs(row, _REPEATED))
        kept.append(hashes[hashes % _KEPT == 0])
    passages = np.concatenate(kept)
    distinct = len(np.unique(passages))
    return (1 - distinct / len(passages) if len(passages) else 0.0), sampled


def faults(
    facts: TextFacts,
    kind: str,
    encoding: str = "utf-8",
    *,
    is_list: bool = False,
) -> Iterator[Fault]:
    """The faults of a text, or of bytes, read in an encoding, the worst first."""
    noun = "text" if kind == "text" else "content"
    occurring, symbols = int((facts.counts > 0).sum()), int(facts.counts.sum())
    if occurring == 1:
        yield Fault(CONSTANT)
        return
    short = not is_list and symbols < _SHORT
    helps = short and facts.known >= _KNOWN * symbols
    if is_list and symbols < _SHORT_LIST:
        yield Fault(
            f"the list is short, {symbols:,} symbols: below {_SHORT_LIST:,} a network learns "
            "entries by heart: give more, or generate with sample.novel=true, which draws anew"
        )
    elif short:
        keys = {"init_from": "shakespeare"} if helps else {}
        more = " or start with init_from=shakespeare:" if helps else ""
        yield Fault(
            f"the {noun} is short, {symbols:,} symbols: below {_SHORT:,} a network learns much of "
            f"it by heart: give more,{more} see docs/reference/writers.md",
            keys,
        )
    if facts.repeated > COPIES:
        yield Fault(
            f"{facts.repeated:.0%} of the passages of 32 symbols came before: copies in the {noun} "
            "make the validation look better than it is"
        )
    odd = {entry["code_point"]: entry for entry in facts.odd}
    if returns := odd.pop(RETURN, None):
        yield Fault(
            f"{returns['count']:,} line ends have a CR, as on Windows or old Macs, which the model "
            f"would learn as a character: read it with data.newline=lf",
            {"newline": "lf"},
        )
    if facts.marked:
        odd.pop(_MARK)
        without = encoding_with_mark(encoding)
        yield Fault(
            f"{counted(facts.marked, 'file')} with a byte order mark ({_MARK}) at the beginning, "
            f"which the model would learn as a character: read it with data.encoding={without}",
            {"encoding": without},
        )
    if odd:
        first = next(iter(odd.values()))
        name = " ".join(filter(None, (first["code_point"], first["name"])))
        yield Fault(
            f"{counted(len(odd), 'odd character')}, "
            f"{sum(entry['count'] for entry in odd.values()):,} in all, such as "
            f"{name} ({first['kind']}, {first['count']:,}): take them out if they mean nothing"
        )
    if kind != "text":
        return
    if facts.rare > _RARE * occurring and not helps:  # or they are known already
        most = max(1, occurring - facts.rare)
        share = int(facts.counts[facts.counts < _FEW].sum()) / symbols
        fewer: dict[str, Any] = {"max_vocabulary": most, "unknown": "skip"}
        leave_out = f"read it with data.max_vocabulary={most} data.unknown=skip to leave them out"
        yield Fault(
            f"{facts.rare:,} of {occurring:,} symbols occur fewer than {_FEW} times, too few to "
            f"learn, and make up {percent(share)} of the {noun}: "
            + (leave_out if share <= _LOST else "give more of it"),
            fewer if share <= _LOST else {},
        )
    if facts.longest_line > _LONG_LINE:
        yield Fault(
            f"the longest line has {facts.longest_line:,} symbols: are the line ends missing?"
        )


def file_faults(files: Collection[Path], config: DataConfig) -> Iterator[Fault]:
    """That files were meant to be read otherwise, by how the first of them begin."""
    begins = dict[Path, bytes]()
    for file in itertools.islice([] if config.of_rows else files, _FILES):
        with contextlib.suppress(BadFileError):
            begins[file] = head(file)
    if not begins:
        return
    utf8 = [file for file, begin in begins.items() if _is_utf8(begin)]
    if utf8 and not codecs.lookup(config.encoding).name.startswith("utf"):
        yield Fault(
            f"{len(utf8)} of {len(begins)} files that were looked at, such as {utf8[0]}, are "
            f"UTF-8, not {config.encoding}: give data.encoding=utf-8"
        )
    if all(file.suffix in _TABLES for file in begins):
        first = next(iter(begins.values())).decode(config.encoding, "replace")
        names = first_of(_columns(first))
        yield Fault(
            "the data are tables: to learn the text of one column, give data.kind=hf "
            f"data.column=NAME{names and f', one of {names}'} (pip install 'seqkit[hf]')"
        )
    elif not config.cuts_files:
        of_files = [[*lists.faults(x.decode(config.encoding, "replace"))] for x in begins.values()]
        if all(found and found[0].keys == of_files[0][0].keys for found in of_files):
            yield from of_files[0]
    texts = [begin.decode("utf-8-sig", "replace").lstrip().lower() for begin in begins.values()]
    for name, marks in _MARKUP.items():
        if all(text.startswith(marks) for text in texts):
            yield Fault(
                f"the data are {name}, whose markup is learnt, too: save them as plain text"
            )


def _columns(begin: str) -> list[str]:
    """The names in the first line of comma-separated values, if it has such names."""
    names = next(csv.reader(begin.removeprefix("\ufeff").splitlines()[:1]), [])
    are_names = all(re.match(r"\w*[^\W\d]", name) for name in names)
    return names if are_names and len({*names}) == len(names) > 1 else []


def _is_utf8(begin: bytes) -> bool:
    """Whether bytes, whose end may cut a character, are UTF-8 that is more than ASCII."""
    with contextlib.suppress(UnicodeDecodeError):
        return not codecs.getincrementaldecoder("utf-8")().decode(begin).isascii()
    return False
