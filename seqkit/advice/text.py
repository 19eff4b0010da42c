"""What a text is like: its characters, and its faults."""

import unicodedata
from collections.abc import Mapping
from typing import Any

import numpy as np

from seqkit.advice.faults import CONSTANT, Fault, told
from seqkit.data.codecs import Characters, Codec
from seqkit.data.corpus import Part
from seqkit.data.files import encoding_with_mark
from seqkit.foundation.wording import character_name, counted, first_of, percent
from seqkit.symbols import Integers

_BLOCK = 1 << 15  # symbols counted at a time; larger ones fragment the process's memory
_FEW = 10  # times that a symbol has to occur at least to be learnt
_ODD = {"Cc", "Cf", "Co", "Cs", "Cn", "Zs", "Zl", "Zp"}
"""Unicode's categories of controls, of invisible, private and unassigned characters, and spaces."""
_USUAL = " \n\t\u200c\u200d"  # the last two, ZWNJ and ZWJ, join letters of Persian, Hindi, emoji
_SHORT, _SHORT_LIST = 100_000, 20_000  # symbols, below which much is learnt by heart
_RETURN, _MARK = "U+000D CR", "U+FEFF ZERO WIDTH NO-BREAK SPACE"
_RARE, _KNOWN, _LOST = 0.5, 0.9, 0.02  # of the vocabulary, and of all symbols


def facts(part: Part, codec: Codec) -> dict[str, Any]:
    """What doctor json=true gives of a text: docs/reference/doctor.md has the fields."""
    counts: Integers = np.zeros(codec.size, np.int64)
    for begin in range(0, len(part), _BLOCK):
        counts += np.bincount(part.symbols[begin : begin + _BLOCK], minlength=codec.size)
    vocabulary = codec.vocabulary if isinstance(codec, Characters) else ""
    names = vocabulary or [f"0x{symbol:02x}" for symbol in range(codec.size)]
    order = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)].tolist()
    frequent = {names[symbol]: int(counts[symbol]) for symbol in order}
    odd = {_code(name): n for name, n in frequent.items() if vocabulary and _is_odd(name)}
    marked = int((part.symbols[part.starts] == vocabulary.find("\ufeff")).sum())
    return {
        "vocabulary": {"size": codec.size, "counts": frequent, "odd": odd},
        "marked": marked,
    }


def _is_odd(character: str) -> bool:
    """Whether it is seldom meant: a control, an invisible or private one, an odd space."""
    is_lost = character == "\ufffd"  # it stands for one that could not be read
    return is_lost or (unicodedata.category(character) in _ODD and character not in _USUAL)


def _code(character: str) -> str:
    return f"U+{ord(character):04X} {character_name(character)}".strip()


def faults(
    facts: Mapping[str, Any], kind: str, encoding: str = "utf-8", *, is_list: bool = False
) -> list[Fault]:
    """The faults of a text, or of bytes, read in an encoding, the worst first."""
    noun, marked = "text" if kind == "text" else "content", facts["marked"]
    counts, odd = facts["vocabulary"]["counts"], dict(facts["vocabulary"]["odd"])
    occurring, symbols = len(counts), sum(counts.values())
    if occurring == 1:
        return [Fault(CONSTANT)]
    short = not is_list and symbols < _SHORT
    known = sum(n for name, n in counts.items() if name.isascii())  # by the model shakespeare
    helps = short and kind == "text" and known >= _KNOWN * symbols
    start = " or start with init_from=shakespeare:" if helps else ""
    without_mark, returns = encoding_with_mark(encoding), odd.pop(_RETURN, 0)
    if marked:
        odd.pop(_MARK)
    rare = [n for n in counts.values() if n < _FEW]
    most, lost = max(1, occurring - len(rare)), sum(rare) / symbols
    remedy, fewer = "give more of it", dict[str, Any]()
    if lost <= _LOST:
        remedy = f"read it with data.max_vocabulary={most} data.unknown=skip to leave them out"
        fewer = {"max_vocabulary": most, "unknown": "skip"}
    return told(
        (
            is_list and symbols < _SHORT_LIST,
            f"the list is short, {symbols:,} symbols: below {_SHORT_LIST:,} a network learns "
            "entries by heart: give more (examples/new_names.py leaves out what it recites)",
        ),
        (
            short,
            f"the {noun} is short, {symbols:,} symbols: below {_SHORT:,} a network learns much of "
            f"it by heart: give more,{start} see docs/reference/writers.md",
            {"init_from": "shakespeare"} if helps else {},
        ),
        (
            returns,
            f"{returns:,} line ends have a CR, as on Windows or old Macs, which the model would "
            "learn as a character: read it with data.newline=lf",
            {"newline": "lf"},
        ),
        (
            marked,
            f"{counted(marked, 'file')} with a byte order mark (U+FEFF) at the beginning, "
            "which the model would learn as a character: read it with "
            f"data.encoding={without_mark}",
            {"encoding": without_mark},
        ),
        (
            odd,
            f"{counted(len(odd), 'odd character')}, such as {first_of([*odd], 1)}: take them "
            "out if they mean nothing",
        ),
        (
            kind == "text" and len(rare) > _RARE * occurring and not helps,  # or they are known
            f"{len(rare):,} of {occurring:,} symbols occur fewer than {_FEW} times, too few to "
            f"learn, and make up {percent(lost)} of the {noun}: {remedy}",
            fewer,
        ),
    )
