"""The digest that says whether a checkpoint is whole.

It is a sha256 over the whole file, taken with its own 64 characters zeroed, and stands in the
metadata of the file's header.
"""

import hashlib
import struct
from collections.abc import Iterable, Sequence

ZEROS = "0" * 64
"""What stands in the place of a digest while it is taken."""


def signed(header: bytes, contents: Sequence[memoryview]) -> Iterable[bytes | memoryview]:
    """A file in parts, its header with zeros in the place of the digest: with the digest."""
    taken = hashlib.sha256(header)
    for content in contents:
        taken.update(content)
    return [*_with_digest(header, _place(header), taken.hexdigest().encode()), *contents]


def fits(content: bytes, digest: object) -> bool:
    """Whether that is the digest of a file."""
    place = _place(content)
    zeroed = hashlib.sha256()
    for part in _with_digest(content, place, ZEROS.encode()):
        zeroed.update(part)
    return place >= 0 and zeroed.hexdigest() == digest


def _place(content: bytes) -> int:
    """Where the digest's 64 characters begin, -1 where there is none."""
    length = struct.unpack("<Q", content[:8])[0]
    mark = b'"digest":"'
    place = content.find(mark, 8, 8 + length)
    return place + len(mark) if place >= 0 else -1


def _with_digest(content: bytes, place: int, digest: bytes) -> list[bytes | memoryview]:
    """A file with its digest at `place`, in parts: it is too large for a copy."""
    return [content[:place], digest, memoryview(content)[place + 64 :]]
