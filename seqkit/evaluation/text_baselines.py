"""What a model of text has to beat: bits per symbol that need no training.

Both start from nothing, as a compressor does, and know no more than what they have read of the
text itself. Their memory does not grow with the text.
"""

import lzma
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs.base import TextCodec
from seqkit.data.corpus import Part, Row
from seqkit.symbols import Integers, Symbols

PASSES = 2
"""How often the baselines read a part."""

_ORDER = 5  # symbols of the longest context
_DISCOUNT = 0.85
_INDEX_BITS = 21
_MOST = 1 << _INDEX_BITS  # symbols that are read at a time
_PIECE = 1 << 20  # symbols that are compressed at a time

Flags = npt.NDArray[np.bool_]


def all_of(
    part: Part, codec: TextCodec, watch: Callable[[int], None] = lambda done: None
) -> dict[str, float]:
    """Both baselines of a part of N symbols, in bits per symbol.

    `watch` hears how many symbols were read, of `PASSES` N.
    """
    total = len(part)
    ngram = ngram_bits(part, codec.size, watch)
    packed = packed_bytes(part.symbols, codec, lambda done: watch(total + done))
    return {"ngram_bits": ngram, "xz_bits": 8 * packed / total}


def text_bytes(symbols: Row, codec: TextCodec) -> int:
    """How many bytes the text of symbols (N,) has, in UTF-8; those of a codec of bytes are N."""
    if codec.kind == "bytes":
        return len(symbols)
    pieces = range(0, len(symbols), _PIECE)
    return sum(len(encoded(symbols[begin : begin + _PIECE], codec)) for begin in pieces)


def packed_bytes(
    symbols: Row, codec: TextCodec, watch: Callable[[int], None] = lambda done: None
) -> int:
    """The size of the text as `xz` packs it, at its own default level."""
    packer, size = lzma.LZMACompressor(), 0
    for begin in range(0, len(symbols), _PIECE):
        piece = symbols[begin : begin + _PIECE]
        size += len(packer.compress(encoded(piece, codec)))
        watch(begin + len(piece))
    return size + len(packer.flush())


def encoded(symbols: Symbols, codec: TextCodec) -> bytes:
    """The text of symbols (N,) in UTF-8; the bytes themselves of a codec of bytes."""
    text = codec.decode(symbols)
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def ngram_bits(part: Part, size: int, watch: Callable[[int], None] = lambda done: None) -> float:
    """An adaptive, interpolated Kneser-Ney model of the last five symbols of the same document.

    Each symbol s that follows a context u of k symbols is coded with what was counted before it:

        p_k(s|u) = (max(n_k(us) - d, 0) + d t(u) p_{k-1}(s|u')) / n_k(u)

    where u' is u without its oldest symbol, t(u) counts the different symbols that followed u, and
    d is 0.85; where nothing followed u, p_k is p_{k-1}. p_{-1} is 1 / V. n_5(us) counts how often
    s followed u, and for shorter contexts in how many longer ones it did (Kneser and Ney, 1995;
    Chen and Goodman, 1999); n_k(u) is the sum over s. After 2,097,152 symbols it starts anew.
    """
    bits = 0.0
    for begin in range(0, len(part), _MOST):
        end = min(begin + _MOST, len(part))
        first = int(np.searchsorted(part.starts, begin, side="right"))
        starts = np.append(begin, part.starts[first : np.searchsorted(part.starts, end)]) - begin
        bits += _ngram_bits(part.symbols[begin:end].astype(np.int64), starts, size, watch, begin)
    return bits / len(part)


def _ngram_bits(
    symbols: Integers, starts: Integers, size: int, watch: Callable[[int], None], done: int
) -> float:
    """The bits of symbols (n,), with documents that start at `starts`, the first at 0."""
    count = len(symbols)
    known = np.arange(count) - np.repeat(starts, np.diff(starts, append=count))
    p = np.full(count, 1 / size)
    contexts = _Groups(np.zeros(count, np.int64))
    pairs = _Groups(symbols)
    for order in range(_ORDER + 1):
        followers = contexts.before(pairs.first())
        if order < _ORDER:
            # A mark stands where the document has no such symbol.
            older = np.where(known > order, np.roll(symbols, order + 1), size)
            longer = _Groups(contexts.numbers() * (size + 1) + older)
            longer_pairs = _Groups(longer.numbers() * size + symbols)
            counted = longer_pairs.first()
        else:
            counted = np.ones(count, np.bool_)
        in_all = contexts.before(counted)
        own = np.maximum(pairs.before(counted) - _DISCOUNT, 0)
        mixed = (own + _DISCOUNT * followers * p) / np.maximum(in_all, 1)
        p = np.where(in_all > 0, mixed, p)
        contexts, pairs = longer, longer_pairs
        watch(done + count * (order + 1) // (_ORDER + 1))
    return -float(np.log2(p).sum())


class _Groups:
    """Places 0 … n-1 with equal keys, brought together and in order."""

    def __init__(self, keys: Integers) -> None:
        """`keys` (n,) are below 2^42."""
        # One number for key and place: sorting numbers is several times faster than an argsort.
        packed = np.sort(keys << _INDEX_BITS | np.arange(len(keys)))
        self._places = (packed & (_MOST - 1)).astype(np.int32)
        keys = packed >> _INDEX_BITS
        self._begins = np.concatenate([[True], keys[1:] != keys[:-1]])

    def first(self) -> Flags:
        """Which places are the first of their group, (n,)."""
        return self._back(self._begins)

    def numbers(self) -> Integers:
        """The number of each place's group, (n,)."""
        return self._back(np.cumsum(self._begins) - 1)

    def before(self, flags: Flags) -> Integers:
        """How many places of the same group come before each and have a flag, (n,)."""
        ordered = flags[self._places]
        counts: Integers = np.cumsum(ordered) - ordered
        begins = np.flatnonzero(self._begins)
        return self._back(counts - np.repeat(counts[begins], np.diff(begins, append=len(counts))))

    def _back(self, ordered: npt.NDArray[Any]) -> npt.NDArray[Any]:
        found = np.empty_like(ordered)
        found[self._places] = ordered
        return found
