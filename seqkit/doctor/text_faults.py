"""What is wrong with a text, in a line each."""

from collections.abc import Iterator, Sequence
from typing import Any

from seqkit.doctor.fault import Fault
from seqkit.doctor.text import FEW, TextFacts
from seqkit.doctor.text import rare as rare_of
from seqkit.foundation.wording import counted

CONSTANT = "the content is one symbol, again and again: there is nothing to learn from it"
_SHORT = 50_000  # symbols from which a model learns more than words
_LONG_LINE = 10_000  # symbols
_REPEATED = 0.2
RETURN, MARK = "U+000D", "U+FEFF"
"""The code points of CR and of the byte order mark, which have faults of their own."""
_C1 = "U+0080", "U+009F"
"""The first and the last of the control characters that nobody types."""
_RARE = 0.5  # of the vocabulary


def of(
    found: TextFacts,
    odd: Sequence[dict[str, Any]],
    symbols: int,
    kind: str = "text",
    marked: int = 0,
    without_mark: str = "utf-8-sig",
    in_shards: bool = False,
) -> Iterator[Fault]:
    """The faults of a text, the worst first.

    Args:
        found: what `text.facts` found.
        odd: what `text.odd_characters` found.
        symbols: how many there are.
        kind: text or bytes.
        marked: how many documents begin with a byte order mark.
        without_mark: the encoding that leaves it out.
        in_shards: they are read as they were prepared, whatever keys are given.
    """
    advised = "prepare the data again with" if in_shards else "give"
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
    odd = [entry for entry in _without_marks(odd, marked) if entry not in returns]
    for entry in returns:
        yield Fault(
            f"{entry['count']:,} line ends have a CR, as on Windows or old Macs, which the model "
            f"would learn as a character: {advised} data.newline=lf",
            {"newline": "lf"},
        )
    if marked:
        yield Fault(
            f"{counted(marked, 'file')} with a byte order mark ({MARK}) at the beginning, which "
            f"the model would learn as a character: give data.encoding={without_mark}",
            {"encoding": without_mark},
        )
    if odd:
        first = odd[0]
        name = " ".join(filter(None, (first["code_point"], first["name"])))
        advice = "take them out if they mean nothing"
        if _C1[0] <= first["code_point"] <= _C1[1]:
            advice = "the text is probably in another encoding than data.encoding"
        yield Fault(
            f"{counted(len(odd), 'odd character')}, "
            f"{sum(entry['count'] for entry in odd):,} in all, such as "
            f"{name} ({first['kind']}, {first['count']:,}): {advice}"
        )
    if kind != "text":
        return
    if (rare := rare_of(found)) > _RARE * occurring:
        most = max(1, occurring - rare)
        yield Fault(
            f"{rare:,} of {occurring:,} symbols occur fewer than {FEW} times, too few to learn: "
            f"{advised} data.max_vocabulary={most} data.unknown=skip to leave them out"
        )
    if found.line_longest > _LONG_LINE:
        yield Fault(
            f"the longest line has {found.line_longest:,} symbols: are the line ends missing?"
        )


def _without_marks(odd: Sequence[dict[str, Any]], marked: int) -> list[dict[str, Any]]:
    """The odd characters but for so many byte order marks."""
    counts = [entry["count"] - marked * (entry["code_point"] == MARK) for entry in odd]
    both = zip(odd, counts, strict=True)
    return [{**entry, "count": count} for entry, count in both if count]
