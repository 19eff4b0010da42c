"""What a model reads of a file, and what goes beside it because the model has no symbol for it.

Any bytes at all become symbols and, beside them, the bytes that no symbol stands for: characters
outside the vocabulary, and what is no UTF-8. Together they give back the very same bytes.
"""

import codecs
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

import numpy as np

from seqkit.compression import beside
from seqkit.compression.beside import Runs
from seqkit.data.codecs import Characters, Quantiser, TextCodec, code_points, failures
from seqkit.foundation.errors import DataError, SeqkitError
from seqkit.symbols import Integers, Symbols, symbol_dtype

BLOCK = 1 << 22
"""Characters or bytes of a block, at most: so many symbols, and others beside them."""

_SURROGATES = 0xD800, 0xE000  # from, to: what Python decodes bytes to that are no UTF-8
_Piece = TypeVar("_Piece", str, bytes)


class Block(NamedTuple):
    """A part of a file.

    symbols: (N,).
    beside: the runs of bytes between them, packed; empty if there are none.
    size: bytes, or samples of sound, that the block stands for.
    """

    symbols: Symbols
    beside: bytes
    size: int


def cut_symbols(codec: Quantiser, pieces: Iterable[Symbols], lanes: int) -> Iterator[Block]:
    """Cut sound, whose symbols come in pieces, into blocks for so many lanes.

    Where a frame has several symbols, the last few, with which lanes would not be of whole frames,
    become a block of their own: a network that begins within a frame goes wrong.
    """
    dtype = symbol_dtype(codec.size)
    for part in _parts((piece.tobytes() for piece in pieces), b"", BLOCK * dtype.itemsize):
        symbols = np.frombuffer(part, dtype)
        even = len(symbols) // (codec.phases * lanes) * codec.phases * lanes
        cuts = [even] if codec.phases > 1 else []
        for block in np.split(symbols, cuts):
            if len(block):
                yield Block(block, b"", len(block))


def join_symbols(symbols: Symbols, packed: bytes) -> Symbols:
    """The symbols of a block, beside which nothing stands. Raises DataError otherwise."""
    if packed:
        raise DataError("damaged: bytes beside sound")
    return symbols


def cut_bytes(codec: TextCodec, pieces: Iterable[bytes]) -> Iterator[Block]:
    """Cut a file, which comes in pieces, into blocks.

    Raises:
        DataError: the codec of a plug-in failed.
    """
    if codec.kind == "bytes":
        for content in _parts(pieces, b"", BLOCK):
            yield _as_a_whole(codec, content, content)
        return
    for text in _parts(_decoded(pieces), "", BLOCK):
        if type(codec) is Characters:
            yield _by_character(codec, text)
        else:
            yield _as_a_whole(codec, text, text.encode("utf-8", "surrogateescape"))


def join_bytes(codec: TextCodec, symbols: Symbols, packed: bytes) -> bytes:
    """The bytes of a block, given what stands beside its symbols.

    Raises:
        DataError: `cut_bytes` made no such block.
    """
    with failures(type(codec), "decode"):
        text = codec.decode(symbols)
    known = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
    if not packed:
        return known
    gaps, lengths, content = beside.unpack(packed)
    places = np.cumsum(gaps)  # in symbols
    if places[-1] > len(symbols):
        raise DataError("damaged: bytes beside the symbols have no place among them")
    if isinstance(text, str):
        sizes = _sizes(code_points(text))
        places = np.concatenate([[0], np.cumsum(sizes)])[places]  # in bytes
    begins = places + np.cumsum(lengths) - lengths
    changes = np.zeros(len(known) + len(content) + 1, np.int8)
    np.add.at(changes, begins, 1)
    np.add.at(changes, begins + lengths, -1)
    other = np.cumsum(changes[:-1], dtype=np.int8) > 0
    whole = np.empty(len(other), np.uint8)
    whole[other] = np.frombuffer(content, np.uint8)
    whole[~other] = np.frombuffer(known, np.uint8)
    return whole.tobytes()


def one_run(content: bytes) -> Block:
    """A block without symbols."""
    runs = Runs(np.zeros(1, np.int64), np.array([len(content)]), content)
    return Block(np.zeros(0, np.uint8), beside.pack(runs), len(content))


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
                return Block(symbols, b"", len(whole))
    except SeqkitError:
        pass  # a codec that does not know all of it
    return one_run(whole)


def _by_character(codec: Characters, text: str) -> Block:
    """What the vocabulary holds as symbols, and runs of the rest beside them."""
    points = code_points(text)
    sizes = _sizes(points)
    known = codec.knows(points) & ((points < _SURROGATES[0]) | (points >= _SURROGATES[1]))
    symbols = codec.encode(_text(points[known]))
    if known.all():
        return Block(symbols, b"", int(sizes.sum()))
    edges = np.diff(known.astype(np.int8), prepend=1, append=1)
    begins, ends = np.flatnonzero(edges == -1), np.flatnonzero(edges == 1)  # of runs
    symbols_before = np.concatenate([[0], np.cumsum(known)])
    bytes_before = np.concatenate([[0], np.cumsum(sizes)])
    runs = Runs(
        gaps=np.diff(symbols_before[begins], prepend=0),
        lengths=bytes_before[ends] - bytes_before[begins],
        content=_text(points[~known]).encode("utf-8", "surrogateescape"),
    )
    return Block(symbols, beside.pack(runs), int(bytes_before[-1]))


def _text(points: np.ndarray) -> str:
    return points.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def _sizes(points: np.ndarray) -> Integers:
    """The bytes (N,) of each code point in UTF-8; of a surrogate, the one that it stands for."""
    sizes = 1 + (points >= 0x80).astype(np.int64) + (points >= 0x800) + (points >= 0x10000)
    sizes[(points >= _SURROGATES[0]) & (points < _SURROGATES[1])] = 1
    return sizes
