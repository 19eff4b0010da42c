"""What is wrong with a text, in a line each."""

from collections.abc import Iterator, Sequence
from typing import Any

from seqkit.doctor.fault import Fault
from seqkit.doctor.text import FEW, TextFacts
from seqkit.doctor.text import rare as rare_of
from seqkit.progress_line import counted

CONSTANT = "the content is one symbol, again and again: there is nothing to learn from it"
_SHORT = 50_000  # symbols from which a model learns more than words
_LONG_LINE = 10_000  # symbols
_REPEATED = 0.2
RETURN = "U+000D"
"""The code point of CR, which has a fault of its own."""
_RARE = 0.5  # of the vocabulary


def of(
    found: TextFacts, odd: Sequence[dict[str, Any]], symbols: int, kind: str = "text"
) -> Iterator[Fault]:
    """The faults of so many symbols of a kind, text or bytes, the worst first.

    `odd` is what `text.odd_characters` found.
    """
    noun = "text" if kind == "text" else "content"
    occurring = int((found.counts > 0).sum())
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
    returns = [entry for entry in odd if entry["code_point"] == RETURN]
    odd = [entry for entry in odd if entry not in returns]
    for entry in returns:
        yield Fault(
            f"{entry['count']:,} line ends have a CR, as on Windows or old Macs, which the model "
            "would learn as a character: give data.newline=lf",
            {"newline": "lf"},
        )
    if odd:
        first = odd[0]
        name = " ".join(filter(None, (first["code_point"], first["name"])))
        yield Fault(
            f"{counted(len(odd), 'odd character')}, "
            f"{sum(entry['count'] for entry in odd):,} in all, such as "
            f"{name} ({first['kind']}, {first['count']:,}): take them out if they mean nothing"
        )
    if kind != "text":
        return
    if (rare := rare_of(found)) > _RARE * occurring:
        most = max(1, occurring - rare)
        yield Fault(
            f"{rare:,} of {occurring:,} symbols occur fewer than {FEW} times, too few to learn; "
            f"data.max_vocabulary={most} data.unknown=skip would leave them out"
        )
    if found.line_longest > _LONG_LINE:
        yield Fault(
            f"the longest line has {found.line_longest:,} symbols: are the line ends missing?"
        )
