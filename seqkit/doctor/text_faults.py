"""What is wrong with a text, in a line each."""

from collections.abc import Iterator, Sequence
from typing import Any

from seqkit.doctor.text import TextFacts
from seqkit.progress_line import counted

CONSTANT = "the text is one symbol, again and again: there is nothing to learn from it"
_SHORT = 50_000  # symbols from which a model learns more than words
_LONG_LINE = 10_000  # symbols
_REPEATED = 0.2
_RETURN = "U+000D"
_RARE = 0.5  # of the vocabulary


def of(found: TextFacts, odd: Sequence[dict[str, Any]], symbols: int) -> Iterator[str]:
    """The faults of a text of so many symbols, the worst first.

    `odd` is what `text.odd_characters` found.
    """
    occurring = int((found.counts > 0).sum())
    if occurring == 1:
        yield CONSTANT
        return
    if symbols < _SHORT:
        yield (
            f"the text is short, {symbols:,} symbols: below {_SHORT:,} a network learns it by "
            "heart before it learns to write; more text helps most"
        )
    if found.repeated > _REPEATED:
        yield (
            f"{found.repeated:.0%} of the passages of 32 symbols came before: copies in the text "
            "make the validation look better than it is"
        )
    returns = [entry for entry in odd if entry["code_point"] == _RETURN]
    odd = [entry for entry in odd if entry not in returns]
    for entry in returns:
        yield (
            f"{entry['count']:,} line ends have a CR, as on Windows or old Macs, which the model "
            "would learn as a character: give data.newline=lf"
        )
    if odd:
        first = odd[0]
        name = " ".join(filter(None, (first["code_point"], first["name"])))
        yield (
            f"{counted(len(odd), 'odd character')}, "
            f"{sum(entry['count'] for entry in odd):,} in all, such as "
            f"{name} ({first['kind']}, {first['count']:,}): take them out if they mean nothing"
        )
    rare = int(((found.counts > 0) & (found.counts < 10)).sum())
    if rare > _RARE * occurring:
        yield (
            f"{rare:,} of {occurring:,} symbols occur fewer than 10 times, too few to learn: "
            "data.max_vocabulary with data.unknown=skip leaves the rarest out"
        )
    if found.line_longest > _LONG_LINE:
        yield f"the longest line has {found.line_longest:,} symbols: are the line ends missing?"
