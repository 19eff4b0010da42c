"""What a text is like: its characters, its lines, and how much of it is there twice."""

import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs import Characters, Codec
from seqkit.data.corpus import Part
from seqkit.foundation.wording import character_name
from seqkit.symbols import Integers, Symbols

_SAMPLE = 1 << 24  # symbols among which repetitions are sought, from the first
_BLOCK = 1 << 15  # symbols counted at a time; larger ones fragment the process's memory
_REPEATED = 32  # symbols of a passage that is there twice
_KEPT = 64  # one passage of so many is compared, chosen by what it is
FEW = 10
"""Times that a symbol has to occur at least to be learnt."""
_SHOWN_COUNTS = 1 << 16  # symbols of a vocabulary that are listed
_FACTOR = 0x9E3779B97F4A7C15  # odd, with bits all over (Knuth's golden ratio)
_ODD_KINDS = {
    "Cc": "control character",
    "Cf": "invisible character",
    "Co": "private character",
    "Cs": "half of a surrogate pair",
    "Cn": "unassigned character",
}
_USUAL = "\n\t"
_REPLACEMENT = "\ufffd"


@dataclass(frozen=True)
class TextFacts:
    """A text in numbers.

    counts: how often each symbol occurs, (V,).
    odd: characters that are seldom meant, the most frequent first: see `odd_characters`.
    lines, longest_line: how many there are, and the largest length in symbols.
    repeated: the share of passages of 32 symbols that came before, in a sample.
    sampled: symbols in that sample.
    """

    counts: Integers
    odd: list[dict[str, Any]]
    lines: int
    longest_line: int
    repeated: float
    sampled: int

    @property
    def rare(self) -> int:
        """How many symbols occur, but fewer than `FEW` times."""
        return int(((self.counts > 0) & (self.counts < FEW)).sum())

    def record(self, codec: Codec) -> dict[str, Any]:
        """As `doctor` gives it."""
        order = np.argsort(-self.counts, kind="stable")[:_SHOWN_COUNTS].tolist()
        counts = [[_name_of(codec, one), int(self.counts[one])] for one in order]
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
        last = part.starts[(part.starts > begin) & (part.starts <= begin + len(block))] - 1
        ended = np.union1d(np.flatnonzero(ends) + begin, last)  # a document ends a line, too
        if ended.size:
            sizes = np.diff(ended, prepend=begun - 1) - ends[ended - begin]
            lines, longest = lines + len(sizes), max(longest, int(sizes.max()))
            begun = int(ended[-1]) + 1
        watch(begin + len(block))
    if begun < len(part):  # the last line has no end
        lines, longest = lines + 1, max(longest, len(part) - begun)
    return TextFacts(counts, odd_characters(counts, codec), lines, longest, *_repeated(part))


def odd_characters(counts: Integers, codec: Codec) -> list[dict[str, Any]]:
    """Characters that are seldom meant: controls, invisible and private ones, odd spaces.

    Each with its count, code point and name (of Unicode, or of ASCII), the most frequent first.
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


def _repeated(part: Part) -> tuple[float, int]:
    """The share of passages that came before, and how many symbols were looked at.

    Of all passages those are compared whose hash is a multiple of 64: the same passage is chosen
    wherever it stands.
    """
    sampled, kept = min(len(part), _SAMPLE), [np.zeros(0, np.uint64)]
    for begin in range(0, sampled - _REPEATED + 1, _BLOCK):
        hashes = _hashes(part.symbols[begin : min(begin + _BLOCK + _REPEATED - 1, sampled)])
        kept.append(hashes[hashes % _KEPT == 0])
    found = np.concatenate(kept)
    distinct = len(np.unique(found))
    return (1 - distinct / len(found) if len(found) else 0.0), sampled


def _hashes(symbols: Symbols) -> npt.NDArray[np.uint64]:
    """A hash of each passage of 32 symbols among these."""
    hashes, width = symbols.astype(np.uint64), 1
    while width < _REPEATED:  # each hash covers twice as many symbols as before
        factor = np.uint64(_FACTOR + 2 * width)
        hashes = (hashes[:-width] * factor) ^ (hashes[width:] + (hashes[width:] >> np.uint64(29)))
        width *= 2
    mixed: npt.NDArray[np.uint64] = hashes ^ (hashes >> np.uint64(31))
    return mixed
