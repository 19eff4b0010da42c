"""What a model has to beat: bits per symbol that need no training.

All start from nothing, as a compressor does, and know no more than what they have read of the part
itself. Their memory does not grow with the part.
"""

import io
import lzma
import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import soundfile

from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.codecs.base import TextCodec
from seqkit.data.corpus import Part, Row
from seqkit.evaluation import count_models
from seqkit.symbols import Symbols

SAMPLE = 1 << 20
"""Symbols, of which the baselines of a run are: the first of its validation part."""

_BLOCK = 1 << 20  # symbols read at a time
_FLAC_RATE = 192_000  # hertz that FLAC takes; the rate has no effect on the size
_DICTIONARY = 1 << 12, 1 << 23  # bytes: the smallest one of xz, and that of its default level
CONSTANT_BITS = 0.05
"""Bits by frequency below which data are nearly constant, and a loss on them tells nothing."""
_NOUNS = {"text": "character", "bytes": "byte", "audio": "sample"}


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
    found = {}
    for number, name in enumerate(names, 1):
        found[name] = _bits(name, part, codec)
        watch(number * len(part))
    return found


def _bits(name: str, part: Part, codec: Codec) -> float:
    match name:
        case "uniform_bits":
            return math.log2(codec.size)
        case "histogram_bits":
            return histogram_bits(part.symbols, codec.size)
        case "context_bits":
            return count_models.context_bits(part, codec.size)
        case "ngram_bits":
            return count_models.ngram_bits(part, codec.size)
        case "flac_bits" if codec.kind == "audio":
            return flac_bits(part.symbols, codec)
        case "xz_bits" if codec.kind != "audio":
            return 8 * packed_bytes(part.symbols, codec) / len(part)
    raise ValueError(f"{name} is no baseline of {codec.kind}")


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
        packed, wave = io.BytesIO(), (levels << shift).astype(np.int16)
        soundfile.write(packed, wave, rate, subtype, format="FLAC", compression_level=1.0)
        size += len(packed.getvalue())
    return 8 * size / len(symbols)
