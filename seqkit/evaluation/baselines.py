"""What a model has to beat: bits per symbol that need no training.

All start from nothing, as a compressor does, and know no more than what they have read of the part
itself. Their memory does not grow with the part.

Two of them count which symbol followed which others, and learn as they read: both code each symbol
s that follows a context u of k symbols of the same document with what was counted before it, and
mix in the shorter contexts: u' is u without its oldest symbol, and p_{-1} is 1 / V. After 2,097,152
symbols they start anew.
"""

import io
import lzma
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import soundfile

from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.codecs.base import TextCodec
from seqkit.data.corpus import Part, Row
from seqkit.symbols import Floats, Integers, Symbols

SAMPLE = 1 << 20
"""Symbols, of which the baselines of a run are: the first of its validation part."""

_BLOCK = 1 << 20  # symbols read at a time
_FLAC_RATE = 192_000  # hertz that FLAC takes; the rate has no effect on the size
_FLAC_CHANNELS = 8  # at most
_DICTIONARY = 1 << 12, 1 << 23  # bytes: the smallest one of xz, and that of its default level
CONSTANT_BITS = 0.05
"""Bits by frequency below which data are nearly constant, and a loss on them tells nothing."""
COPIES = 0.2  # of the passages of a text came before, from which on a loss on it looks too good
_ORDER = 5  # symbols of the longest context of `ngram_bits`
_DISCOUNT = 0.85
_STRENGTHS = (1.0, 64.0, 64.0)  # pseudo-counts of `context_bits`, by order
_INDEX_BITS = 21
_MOST = 1 << _INDEX_BITS  # symbols that these two read at a time
_NOUNS = {"text": "character", "bytes": "byte", "audio": "sample"}

_Flags = npt.NDArray[np.bool_]


class BaselineName(NamedTuple):
    """A baseline's name in a sentence, and a short one for charts and lists."""

    whole: str
    brief: str


def noun(kind: str, symbols_per_sample: int = 1) -> str:
    """What a symbol of text, bytes or audio is; of two that make up a sample it is a symbol."""
    return _NOUNS.get(kind, "symbol") if symbols_per_sample == 1 else "symbol"


def names(symbol: str = "symbol") -> dict[str, BaselineName]:
    """The names of all baselines by their keys in about.json and JSON results.

    `symbol` is what a symbol is: a character, a byte or a sample.
    """
    return {
        "uniform_bits": BaselineName("blind guessing", "blind guess"),
        "histogram_bits": BaselineName("guessing by frequency", "by frequency"),
        "context_bits": BaselineName(f"a table of what follows any two {symbol}s", "last two"),
        "ngram_bits": BaselineName("an n-gram model", "n-gram"),
        "flac_bits": BaselineName("FLAC", "FLAC"),
        "xz_bits": BaselineName("xz", "xz"),
    }


def beside_score(codec: Codec) -> tuple[str, ...]:
    """The baselines that a score is read beside."""
    if codec.kind == "audio":
        return "histogram_bits", "context_bits", "flac_bits"
    return "ngram_bits", "xz_bits"


def of_run(codec: Codec) -> tuple[str, ...]:
    """The baselines that a run records: those that are quickly found."""
    quick = "uniform_bits", "histogram_bits", "context_bits"
    return (*quick, "flac_bits") if codec.kind == "audio" else quick


def baselines(
    part: Part,
    codec: Codec,
    names: Sequence[str],
    limit: int | None = None,
    watch: Callable[[int], None] = lambda done: None,
) -> dict[str, float]:
    """Bits per symbol of a part, or of its first `limit` symbols, by the baseline's name.

    `watch` hears after each how many symbols were read, of `len(names)` times as many.
    """
    if limit is not None and limit < len(part):
        part = Part(part.symbols[:limit], part.starts[part.starts < limit])
    bits = {}
    for number, name in enumerate(names, 1):
        bits[name] = _bits(name, part, codec)
        watch(number * len(part))
    return bits


def _bits(name: str, part: Part, codec: Codec) -> float:
    match name:
        case "uniform_bits":
            return math.log2(codec.size)
        case "histogram_bits":
            return histogram_bits(part.symbols, codec.size)
        case "context_bits":
            return context_bits(part, codec.size)
        case "ngram_bits":
            return ngram_bits(part, codec.size)
    if codec.kind == "audio":
        return flac_bits(part.symbols, codec)
    return 8 * packed_bytes(part.symbols, codec) / len(part)


def histogram_bits(symbols: Row, size: int) -> float:
    """The entropy of the frequencies of the symbols (N,), of which there are `size`."""
    counts = np.zeros(size, np.int64)
    for begin in range(0, len(symbols), _BLOCK):
        counts += np.bincount(symbols[begin : begin + _BLOCK], minlength=size)
    shares = counts[counts > 0] / len(symbols)
    return abs(float((shares * np.log2(shares)).sum()))  # of a certain symbol 0, not -0


def text_bytes(symbols: Row, codec: TextCodec) -> int:
    """How many bytes the text of symbols (N,) has, in UTF-8; those of a codec of bytes are N."""
    if codec.kind == "bytes":
        return len(symbols)
    blocks = range(0, len(symbols), _BLOCK)
    return sum(len(_encoded(symbols[begin : begin + _BLOCK], codec)) for begin in blocks)


def packed_bytes(symbols: Row, codec: TextCodec) -> int:
    """The size of the text as `xz` packs it, at its own default level."""
    least, most = _DICTIONARY
    wanted = min(max(4 * len(symbols), least), most)  # memory for more than there is is not needed
    packer = lzma.LZMACompressor(
        filters=[{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": wanted}]
    )
    blocks = range(0, len(symbols), _BLOCK)
    encoded = (_encoded(symbols[begin : begin + _BLOCK], codec) for begin in blocks)
    return sum(len(packer.compress(block)) for block in encoded) + len(packer.flush())


def _encoded(symbols: Symbols, codec: TextCodec) -> bytes:
    """The text of symbols (N,) in UTF-8; the bytes themselves of a codec of bytes."""
    text = codec.decode(symbols)
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def flac_bits(symbols: Row, codec: Quantiser) -> float:
    """The size of a FLAC (best compression) of the quantised signal, the levels as integers.

    Up to 256 levels are 8-bit samples around silence, more are 16-bit ones. In bits per symbol; of
    more than a million symbols each million is a file of its own.
    """
    subtype, shift = ("PCM_S8", 8) if codec.levels <= 256 else ("PCM_16", 0)
    rate, size = min(codec.sample_rate, _FLAC_RATE), 0
    for begin in range(0, len(symbols), _BLOCK):
        levels = codec.levels_of(symbols[begin : begin + _BLOCK]) - codec.levels // 2
        wave = (levels << shift).astype(np.int16)
        for columns in np.split(wave, range(_FLAC_CHANNELS, wave.shape[1], _FLAC_CHANNELS), 1):
            packed = io.BytesIO()
            soundfile.write(packed, columns, rate, subtype, format="FLAC", compression_level=1.0)
            size += len(packed.getvalue())
    return 8 * size / len(symbols)


def context_bits(part: Part, size: int) -> float:
    """The bits per symbol of a model of the last two symbols, of `size` different ones.

        p_k(s|u) = (n(us) + a_k p_{k-1}(s|u')) / (n(u) + a_k)

    n(us) counts how often s followed u, n(u) is the sum over s, and a is 1, 64, 64: a Dirichlet
    prior of each order around the one below (MacKay and Peto, 1995).
    """
    return _bits_of_counts(part, size, len(_STRENGTHS) - 1, _dirichlet)


def ngram_bits(part: Part, size: int) -> float:
    """The bits per symbol of an interpolated Kneser-Ney model of the last five symbols.

        p_k(s|u) = (max(n_k(us) - d, 0) + d t(u) p_{k-1}(s|u')) / n_k(u)

    t(u) counts the different symbols that followed u, and d is 0.85; where nothing followed u, p_k
    is p_{k-1}. n_5(us) counts how often s followed u, and for shorter contexts in how many longer
    ones it did (Kneser and Ney, 1995; Chen and Goodman, 1999); n_k(u) is the sum over s.
    """
    return _bits_of_counts(part, size, _ORDER, _kneser_ney)


class _Groups:
    """Places 0 … n-1 with equal keys, brought together and in order."""

    def __init__(self, keys: Integers) -> None:
        """`keys` (n,) are below 2^42."""
        # One number for key and place: sorting numbers is several times faster than an argsort.
        packed = np.sort(keys << _INDEX_BITS | np.arange(len(keys)))
        self._places = (packed & (_MOST - 1)).astype(np.int32)
        keys = packed >> _INDEX_BITS
        self._begins = np.concatenate([[True], keys[1:] != keys[:-1]])

    def first(self) -> _Flags:
        """Which places are the first of their group, (n,)."""
        return self._back(self._begins)

    def numbers(self) -> Integers:
        """The number of each place's group, (n,)."""
        return self._back(np.cumsum(self._begins) - 1)

    def before(self, flags: _Flags) -> Integers:
        """How many places of the same group come before each and have a flag, (n,)."""
        ordered = flags[self._places]
        counts: Integers = np.cumsum(ordered) - ordered
        begins = np.flatnonzero(self._begins)
        return self._back(counts - np.repeat(counts[begins], np.diff(begins, append=len(counts))))

    def _back(self, ordered: npt.NDArray[Any]) -> npt.NDArray[Any]:
        values = np.empty_like(ordered)
        values[self._places] = ordered
        return values


_Mix = Callable[[int, _Groups, _Groups, _Flags, Floats], Floats]
"""What becomes of p_{k-1} (n,): given k, the places by their contexts and by context and symbol,
and which are new in a context that is one symbol longer; in the longest all are."""


def _dirichlet(order: int, contexts: _Groups, pairs: _Groups, new: _Flags, p: Floats) -> Floats:
    every, strength = np.ones_like(new), _STRENGTHS[order]
    mixed: Floats = (pairs.before(every) + strength * p) / (contexts.before(every) + strength)
    return mixed


def _kneser_ney(order: int, contexts: _Groups, pairs: _Groups, new: _Flags, p: Floats) -> Floats:
    in_all = contexts.before(new)
    seen = np.maximum(pairs.before(new) - _DISCOUNT, 0)
    mixed = (seen + _DISCOUNT * contexts.before(pairs.first()) * p) / np.maximum(in_all, 1)
    return np.where(in_all > 0, mixed, p)


def _bits_of_counts(part: Part, size: int, most: int, mix: _Mix) -> float:
    """The bits per symbol of a model with contexts of at most so many symbols."""
    bits = 0.0
    for begin in range(0, len(part), _MOST):
        end = min(begin + _MOST, len(part))
        first = int(np.searchsorted(part.starts, begin, side="right"))
        starts = np.append(begin, part.starts[first : np.searchsorted(part.starts, end)]) - begin
        bits += _bits_of_piece(part.symbols[begin:end].astype(np.int64), starts, size, most, mix)
    return bits / len(part)


def _bits_of_piece(symbols: Integers, starts: Integers, size: int, most: int, mix: _Mix) -> float:
    """The bits of symbols (n,), with documents that start at `starts`, the first at 0."""
    count = len(symbols)
    known = np.arange(count) - np.repeat(starts, np.diff(starts, append=count))
    p: Floats = np.full(count, 1 / size)
    contexts, pairs = _Groups(np.zeros(count, np.int64)), _Groups(symbols)
    for order in range(most):
        # A mark stands where the document has no such symbol.
        older = np.where(known > order, np.roll(symbols, order + 1), size)
        longer = _Groups(contexts.numbers() * (size + 1) + older)
        longer_pairs = _Groups(longer.numbers() * size + symbols)
        p = mix(order, contexts, pairs, longer_pairs.first(), p)
        contexts, pairs = longer, longer_pairs
    p = mix(most, contexts, pairs, np.ones(count, np.bool_), p)
    return -float(np.log2(p).sum())
