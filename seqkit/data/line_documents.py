"""Many short documents in one file: a line of JSON, a string, for each of them."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from seqkit.data.bad_files import BadFileError
from seqkit.data.files import blocks


def line_of(document: str) -> bytes:
    """The line that stands for a document; half a surrogate pair becomes a question mark."""
    return json.dumps(document, ensure_ascii=False).encode(errors="replace") + b"\n"


def batches(
    file: Path,
    newline: str = "keep",
    count: Callable[[int], None] = lambda size: None,
    begin: int = 0,
    end: int | None = None,
) -> Iterator[list[str]]:
    """The documents of a file, some megabytes at a time; with newline=lf their line ends are LF.

    `begin` and `end`, in bytes, lie between two lines. `count` is told how many bytes were read,
    each time.

    Raises:
        BadFileError: the file cannot be read, or is damaged.
    """
    left = b""
    for block in blocks(file, count, begin, end):
        whole, ended, rest = block.rpartition(b"\n")
        if not ended:
            left += block
            continue
        yield _documents(file, left + whole, newline)
        left = rest
    if left:
        raise _damaged(file)


def _documents(file: Path, lines: bytes, newline: str) -> list[str]:
    try:
        documents: list[str] = json.loads(b"[" + lines.replace(b"\n", b",") + b"]")
    except ValueError as error:
        raise _damaged(file) from error
    if newline == "lf":
        return [one.replace("\r\n", "\n").replace("\r", "\n") for one in documents]
    return documents


def _damaged(file: Path) -> BadFileError:
    return BadFileError(file, "damaged", "remove it, and it is fetched again")
