"""The digest that says whether a checkpoint is whole.

It is a sha256 over the whole file, taken with its own 64 characters zeroed, and stands in the
metadata of the file's header.
"""

import hashlib
from collections.abc import Sequence
from typing import BinaryIO

ZEROS = "0" * 64
"""What stands in the place of a digest while it is taken."""
_BLOCK = 1 << 20  # bytes that are read at a time


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
