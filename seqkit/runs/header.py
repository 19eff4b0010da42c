"""What a checkpoint says of itself, read without PyTorch, and the digest that tells damage.

The file's header has the record as a JSON text, and beside it a sha256 over the whole file, taken
with its own 64 characters zeroed.
"""

import hashlib
import json
import stat
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

ZEROS = "0" * 64
"""What stands in the place of a digest while it is taken."""
NOT_OURS = (
    *(struct.error, ValueError, KeyError, TypeError, OverflowError, MemoryError),
    RecursionError,  # thousands of brackets
)
"""What reading a header of another shape than a checkpoint's leads to."""
_LARGEST = 1 << 26  # bytes: a vocabulary of all characters takes a quarter
_BLOCK = 1 << 20  # bytes that are read at a time


def peek(path: Path) -> dict[str, Any] | None:
    """What a checkpoint says of itself, if it is there and as long as it should be; else None.

    Its digest is not checked, which would mean to read all of it.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            return None
        with path.open("rb") as stream:
            content = read(stream)
        entries = json.loads(content[8:])
        metadata = entries.pop("__metadata__")
        size = len(content) + max(entry["data_offsets"][1] for entry in entries.values())
        header = json.loads(metadata["seqkit"])
        whole = isinstance(header, dict) and path.stat().st_size == size
        return header if whole else None
    except (OSError, AttributeError, IndexError, *NOT_OURS):
        return None


def read(stream: BinaryIO) -> bytes:
    """The header with which a file begins, its length included. Raises one of NOT_OURS."""
    begin = stream.read(8)
    length = struct.unpack("<Q", begin)[0]
    if length > _LARGEST:
        raise ValueError(f"a header of {length} bytes")
    return begin + stream.read(length)


def metadata(header: bytes) -> dict[str, Any]:
    """What a file's header says beside its tensors. Raises one of NOT_OURS."""
    found: dict[str, Any] = json.loads(header[8:])["__metadata__"]
    return found


def signed(header: bytes, contents: Sequence[memoryview]) -> list[bytes | memoryview]:
    """A file in parts, its header with zeros in the place of the digest: with the digest."""
    taken = hashlib.sha256(header)
    for content in contents:
        taken.update(content)
    return [*_with_digest(header, _place(header), taken.hexdigest().encode()), *contents]


def fits(header: bytes, contents: BinaryIO, digest: object) -> bool:
    """Whether that is the digest of a file: of its header, and of what is left to read after it."""
    place = _place(header)
    zeroed = hashlib.sha256()
    for part in _with_digest(header, place, ZEROS.encode()):
        zeroed.update(part)
    while block := contents.read(_BLOCK):
        zeroed.update(block)
    return place >= 0 and zeroed.hexdigest() == digest


def _place(header: bytes) -> int:
    """Where the digest's 64 characters begin, -1 where there is none."""
    mark = b'"digest":"'
    place = header.find(mark, 8)
    return place + len(mark) if place >= 0 else -1


def _with_digest(header: bytes, place: int, digest: bytes) -> list[bytes]:
    """A header with its digest at `place`, in parts."""
    return [header[:place], digest, header[place + len(digest) :]]
