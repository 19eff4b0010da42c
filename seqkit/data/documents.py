"""Several documents in a file of text: where it is cut into them, as `data.document` says."""

import re
from collections.abc import Iterable, Iterator

from seqkit.foundation.wording import unescaped

_SEEN_AGAIN = 1 << 8  # characters of a block that are looked at again with the next one


def split(blocks: Iterable[str], document: str) -> Iterator[list[str]]:
    """The documents in blocks of text whose line ends are LF, as they come.

    The first of each list goes on with the last one of the list before: no document has to fit into
    memory. Up to four line ends beside a separator belong to no document, nor do those at the
    beginning and the end of the text.
    """
    cut = _pattern(document)
    edge = "" if document == "line" else "\n"
    held, is_begun = "", False
    for block in blocks:
        text = held + block
        *whole, last = cut.split(text if is_begun else text.lstrip(edge))
        is_begun = bool(last) or (is_begun and not whole)
        kept = max(len(last) - len(cut.pattern) - _SEEN_AGAIN, 0)
        held = last[kept:]
        yield [*whole, last[:kept]]
    yield [held.rstrip(edge)]


def _pattern(document: str) -> re.Pattern[str]:
    """What stands between documents."""
    if document == "line":
        return re.compile("\n")
    if document == "blank_line":
        return re.compile(r"\n(?:[ \t]*\n)+")
    return re.compile(rf"\n{{0,4}}{re.escape(unescaped(document))}\n{{0,4}}")
