"""Whether a text is a list, of names or poems, each of which is better a document."""

import itertools
import re
from collections.abc import Iterator, Sequence
from statistics import median

from seqkit.advice.faults import Fault

_LINES, _BLOCKS = 200, 20  # of a list, at least
_NAME, _VERSE = 40, 50  # characters of a line, at most, in the median
_POEM = 3  # lines, at least, in the median
_DISTINCT, _DISTINCT_POEMS = 0.1, 0.8  # of the entries, at least: the stanzas of songs repeat
_FEW = 0.1  # of the lines, at most, are what the lines of a list are not
_OTHER = r"\s|[\W\d_]*$"  # as lines of code, and of numbers
_SPOKEN = r"[^:]{1,30}:"  # with a speaker
_PROSE = rf"{_SPOKEN}|.*[.,;:!?…—。，；：！？、]\W*$"  # or as sentences end


def faults(text: str) -> Iterator[Fault]:
    """That a text, or how it begins, is a list, and the keys that cut it into documents."""
    groups = itertools.groupby(text.splitlines(), lambda line: bool(line.strip()))
    blocks = [[*lines] for is_filled, lines in groups if is_filled]
    lines = [*itertools.chain(*blocks)]
    if _are(lines, _OTHER):
        return
    width, height = median(map(len, lines)), median(map(len, blocks))
    are_close = len(lines) >= _LINES * max(len(blocks) - 1, 1)
    if are_close and width <= _NAME and _are_entries(lines, _PROSE, _DISTINCT):
        yield _fault(f"lines of {width:g} characters", "line", " (recipe=names)")
    poems = len(blocks) >= _BLOCKS and height >= _POEM and width <= _VERSE
    if poems and _are_entries([block[0] for block in blocks], _SPOKEN, _DISTINCT_POEMS):
        yield _fault(f"{height:g} short lines between blank lines", "blank_line")


def _are_entries(lines: Sequence[str], others: str, distinct: float) -> bool:
    """Whether such a share of lines differ, and hardly one is of the others."""
    return len({*lines}) >= distinct * len(lines) and not _are(lines, others)


def _are(lines: Sequence[str], kind: str) -> bool:
    """Whether there are none, or more than a few of a kind."""
    return sum(bool(re.match(kind, line)) for line in lines) >= _FEW * len(lines)


def _fault(each: str, document: str, recipe: str = "") -> Fault:
    return Fault(
        f"the text looks like a list, of {each} in the median: with "
        f"data.document={document}{recipe} each is a document, and a sample is one",
        {"document": document},
    )
