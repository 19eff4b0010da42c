"""Bytes that stand between symbols: where their runs are, how long, and what they hold, packed."""

import lzma
import struct
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from seqkit.foundation.errors import DataError
from seqkit.symbols import Integers

MOST = 1 << 26
"""Bytes of a block's runs with their places, before they are packed."""

_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 22}]
_LENGTH = struct.Struct("<I")
_FEW = 32  # bytes, which no compression makes fewer
_LONGEST = 5  # bytes of a number


class Runs(NamedTuple):
    """Runs of bytes.

    gaps: symbols between the end of the run before (or the begin) and each, (R,).
    lengths: in bytes, (R,).
    content: of all runs, one after the other.
    """

    gaps: Integers
    lengths: Integers
    content: bytes


def pack(runs: Runs) -> bytes:
    """Runs as bytes, compressed where that makes them fewer."""
    numbers = _numbers([len(runs.gaps), *runs.gaps.tolist(), *runs.lengths.tolist()])
    plain = numbers + runs.content
    packed = plain
    if len(plain) > _FEW:
        packed = lzma.compress(plain, lzma.FORMAT_RAW, filters=_FILTERS)
    return _LENGTH.pack(len(plain)) + min(plain, packed, key=len)


def unpack(packed: bytes) -> Runs:
    """The inverse of `pack`. Raises DataError for anything that it did not make."""
    damaged = DataError("damaged: what stands beside the symbols cannot be read")
    try:
        length = _LENGTH.unpack_from(packed)[0]
        plain = packed[_LENGTH.size :]
        if length > MOST:
            raise damaged
        if length != len(plain):
            unpacker = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_FILTERS)
            plain = unpacker.decompress(plain, max_length=length)
        (count,), place = _read(plain, 0, 1)
        numbers, place = _read(plain, place, 2 * count)
    except (struct.error, lzma.LZMAError, EOFError, IndexError) as error:
        raise damaged from error
    gaps, lengths = np.array(numbers, np.int64).reshape(2, count)
    if len(plain) != length or not count or lengths.sum() != length - place or lengths.min() < 1:
        raise damaged
    return Runs(gaps, lengths, plain[place:])


def _numbers(numbers: Sequence[int]) -> bytes:
    """Numbers in groups of seven bits, the lowest first; the last group's top bit is 0."""
    made = bytearray()
    for number in numbers:
        rest = number
        while rest > 0x7F:
            made.append(rest & 0x7F | 0x80)
            rest >>= 7
        made.append(rest)
    return bytes(made)


def _read(content: bytes, place: int, count: int) -> tuple[list[int], int]:
    """So many numbers from a place on, and where they end. Raises IndexError at the end."""
    if count > len(content):
        raise IndexError
    numbers = []
    for _ in range(count):
        number = 0
        for shift in range(0, 7 * _LONGEST, 7):
            byte = content[place]
            place += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        numbers.append(number)
    return numbers, place
