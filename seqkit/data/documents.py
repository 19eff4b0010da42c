"""Several documents in a file of text: where it is cut into them, as `data.document` says."""

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from seqkit.foundation.wording import unescaped

_NAMED = {"line": "\n", "blank_line": "\n\n"}
_SEEN_AGAIN = 1 << 8  # characters of a block that are looked at again with the next one
_BLOCK = 1 << 20  # bytes


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


def bytes_between(document: str) -> re.Pattern[bytes]:
    """What stands between documents in a file of UTF-8, whatever its line ends are."""
    lines = _NAMED.get(document, unescaped(document)).split("\n")
    return re.compile(rb"\r?\n".join(re.escape(line.encode()) for line in lines))


def next_document(stream: BinaryIO, place: int, between: re.Pattern[bytes]) -> int:
    """Where the first document after a place in a file begins, or where the file ends."""
    held = b""
    stream.seek(place)
    while block := stream.read(_BLOCK):
        held += block
        if found := between.search(held):
            return place + found.end()
        kept = held[-len(between.pattern) - _SEEN_AGAIN :]
        place, held = place + len(held) - len(kept), kept
    return place + len(held)
