"""What a model reads of a file, and what goes beside it because the model has no symbol for it.

Any bytes at all become symbols and, beside them, runs of the bytes that no symbol stands for:
characters outside the vocabulary, and what is no UTF-8. Together they give back the very same
bytes.
"""

import codecs
import lzma
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from seqkit.data.codecs import Characters, Codec, Quantiser, TextCodec, code_points, failures
from seqkit.foundation.errors import DataError, SeqkitError
from seqkit.symbols import Integers, Symbols, symbol_dtype

BLOCK = 1 << 22
"""Characters or bytes of a block, at most: so many symbols, and others beside them."""

_MOST = 1 << 26  # bytes of a block's runs with their places, before they are packed
_MOST_BITS = 35  # of a number
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 22}]
_LENGTH = struct.Struct("<I")
_NO_SYMBOLS = np.zeros(0, np.uint8)
_SURROGATES = 0xD800, 0xE000  # from, to: what Python decodes bytes to that are no UTF-8
_Piece = TypeVar("_Piece", str, bytes)


class Block(NamedTuple):
    """A part of a file.

    content: bytes, or symbols of sound, that the block stands for.
    symbols: (N,).
    beside: the runs of bytes between them, packed; empty if there are none.
    """

    content: Any
    symbols: Symbols
    beside: bytes = b""


class Runs(NamedTuple):
    """Runs of bytes.

    gaps: symbols between the end of the run before (or the begin) and each, (R,).
    lengths: in bytes, (R,).
    content: of all runs, one after the other.
    """

    gaps: Integers
    lengths: Integers
    content: bytes


def cut(codec: Codec, pieces: Iterable[Any], lanes: int) -> Iterator[Block]:
    """Cut a file, which comes in pieces, into blocks for so many lanes.

    Pieces are bytes, or symbols of sound. Raises DataError where the codec of a plug-in failed.
    """
    if isinstance(codec, Quantiser):
        yield from _sound(codec, pieces, lanes)
    elif codec.kind == "bytes":
        for content in _parts(pieces, b"", BLOCK):
            yield _as_a_whole(codec, content, content)
    else:
        for text in _parts(_decoded(pieces), "", BLOCK):
            whole = text.encode("utf-8", "surrogateescape")
            if type(codec) is Characters:
                yield _by_character(codec, text, whole)
            else:
                yield _as_a_whole(codec, text, whole)


def join(codec: Codec, symbols: Symbols, packed: bytes) -> Any:
    """What a block stands for, given its symbols and what is beside them.

    Raises:
        DataError: `cut` made no such block.
    """
    if not isinstance(codec, TextCodec):
        return symbols
    with failures(type(codec), "decode"):
        text = codec.decode(symbols)
    known = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if not packed:
        return known
    sizes = _sizes(code_points(text)) if isinstance(text, str) else np.ones(len(known), np.int64)
    try:
        return _merged(known, np.concatenate([[0], np.cumsum(sizes)]), unpack(packed))
    except (struct.error, lzma.LZMAError, EOFError, IndexError, ValueError) as error:
        raise DataError("damaged: what stands beside the symbols cannot be read") from error


def one_run(content: bytes) -> Block:
    """A block without symbols."""
    runs = Runs(np.zeros(1, np.int64), np.array([len(content)]), content)
    return Block(content, _NO_SYMBOLS, pack(runs))


def pack(runs: Runs) -> bytes:
    """Runs as bytes, compressed where that makes them fewer."""
    numbers = _numbers([len(runs.gaps), *runs.gaps.tolist(), *runs.lengths.tolist()])
    plain = numbers + runs.content
    packed = lzma.compress(plain, lzma.FORMAT_RAW, filters=_FILTERS)
    return _LENGTH.pack(len(plain)) + min(plain, packed, key=len)


def unpack(packed: bytes) -> Runs:
    """The inverse of `pack`. Anything else raises errors of many kinds, or makes little sense."""
    (length,), plain = _LENGTH.unpack_from(packed), packed[_LENGTH.size :]
    if length != len(plain):
        unpacker = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=_FILTERS)
        plain = unpacker.decompress(plain, max_length=min(length, _MOST))
    (count,), place = _read(plain, 0, 1)
    numbers, place = _read(plain, place, 2 * count)
    gaps, lengths = np.array(numbers, np.int64).reshape(2, count)
    return Runs(gaps, lengths, plain[place:])


def _sound(codec: Quantiser, pieces: Iterable[Symbols], lanes: int) -> Iterator[Block]:
    """Sound in blocks.

    Where a frame has several symbols, the last few, with which lanes would not be of whole frames,
    become a block of their own: a network that begins within a frame goes wrong.
    """
    dtype, whole = symbol_dtype(codec.size), codec.phases * lanes
    length = BLOCK // whole * whole * dtype.itemsize
    for part in _parts((piece.tobytes() for piece in pieces), b"", length):
        symbols = np.frombuffer(part, dtype)
        even = len(symbols) // whole * whole
        for block in np.split(symbols, [even] if codec.phases > 1 else []):
            if len(block):
                yield Block(block, block)


def _parts(pieces: Iterable[_Piece], empty: _Piece, length: int) -> Iterator[_Piece]:
    """The same content in parts of a length, the last one shorter."""
    kept: list[_Piece] = []
    size = 0
    for piece in pieces:
        kept.append(piece)
        size += len(piece)
        while size >= length:
            whole = empty.join(kept)
            yield whole[:length]
            kept, size = [whole[length:]], size - length
    if size:
        yield empty.join(kept)


def _decoded(pieces: Iterable[bytes]) -> Iterator[str]:
    """Any bytes as text: a surrogate stands for each that is no UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    for piece in pieces:
        yield decoder.decode(piece)
    yield decoder.decode(b"", final=True)


def _as_a_whole(codec: TextCodec, content: str | bytes, whole: bytes) -> Block:
    """All of it as symbols if the codec gives it back from them, else all of it as one run."""
    try:
        with failures(type(codec), "encode"):
            symbols = codec.encode(content)
            if len(symbols) <= BLOCK and codec.decode(symbols) == content:
                return Block(whole, symbols)
    except SeqkitError:
        pass  # a codec that does not know all of it
    return one_run(whole)


def _by_character(codec: Characters, text: str, whole: bytes) -> Block:
    """What the vocabulary holds as symbols, and runs of the rest beside them."""
    points = code_points(text)
    known = codec.knows(points) & ((points < _SURROGATES[0]) | (points >= _SURROGATES[1]))
    symbols = codec.encode(_text(points[known]))
    if known.all():
        return Block(whole, symbols)
    edges = np.diff(known.astype(np.int8), prepend=1, append=1)
    begins, ends = np.flatnonzero(edges == -1), np.flatnonzero(edges == 1)  # of runs
    symbols_before = np.concatenate([[0], np.cumsum(known)])
    bytes_before = np.concatenate([[0], np.cumsum(_sizes(points))])
    runs = Runs(
        gaps=np.diff(symbols_before[begins], prepend=0),
        lengths=bytes_before[ends] - bytes_before[begins],
        content=_text(points[~known]).encode("utf-8", "surrogateescape"),
    )
    return Block(whole, symbols, pack(runs))


def _merged(known: bytes, places: Integers, runs: Runs) -> bytes:
    """The bytes of the symbols with the runs among them; symbol i begins at `places[i]`."""
    begins = places[np.cumsum(runs.gaps)] + np.cumsum(runs.lengths) - runs.lengths
    changes = np.zeros(len(known) + len(runs.content) + 1, np.int8)
    np.add.at(changes, begins, 1)
    np.add.at(changes, begins + runs.lengths, -1)
    other = np.cumsum(changes[:-1], dtype=np.int8) > 0
    whole = np.empty(len(other), np.uint8)
    whole[other] = np.frombuffer(runs.content, np.uint8)
    whole[~other] = np.frombuffer(known, np.uint8)
    return whole.tobytes()


def _text(points: np.ndarray) -> str:
    return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _sizes(points: np.ndarray) -> Integers:
    """The bytes (N,) of each code point in UTF-8; of a surrogate, the one that it stands for."""
    sizes = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    sizes[(points >= _SURROGATES[0]) & (points < _SURROGATES[1])] = 1
    return sizes


def _numbers(numbers: Sequence[int]) -> bytes:
    """Numbers in groups of seven bits, the lowest first; the last group's top bit is 0."""
    content = bytearray()
    for number in numbers:
        rest = number
        while rest > 0x7F:
            content.append(rest & 0x7F | 0x80)
            rest >>= 7
        content.append(rest)
    return bytes(content)


def _read(content: bytes, place: int, count: int) -> tuple[list[int], int]:
    """So many numbers from a place on, and where they end. Raises IndexError at the end."""
    numbers = []
    for _ in range(count):
        number = 0
        for shift in range(0, _MOST_BITS, 7):
            byte = content[place]
            place += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
        numbers.append(number)
    return numbers, place
