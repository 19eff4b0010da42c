"""What a model has to beat: bits per symbol that need no training.

All start from nothing, as a compressor does, and know no more than what they have read of the part
itself. Their memory does not grow with the part.
"""

import io
import lzma
from collections.abc import Iterator

import numpy as np
import soundfile

from seqkit.data.codecs import Codec, Quantiser, TextCodec
from seqkit.data.corpus import Part
from seqkit.symbols import Symbols

SAMPLE = 1 << 18
"""Symbols, of which the baselines of a run are: the first of its validation part."""

_BLOCK = 1 << 20  # symbols read at a time
_FLAC_RATE = 192_000  # hertz that FLAC takes; the rate has no effect on the size
_NOUNS = {"text": "character", "bytes": "byte", "audio": "sample"}

NAMES = {
    "histogram_bits": "guessing by frequency",
    "flac_bits": "FLAC",
    "xz_bits": "xz",
}
"""By their keys in about.json and JSON results."""


def noun(kind: str) -> str:
    """What a symbol of text, bytes or audio is."""
    return _NOUNS.get(kind, "symbol")


def baselines(part: Part, codec: Codec, limit: int | None = None) -> dict[str, float]:
    """Bits per symbol of a part, or of its first `limit` symbols, by the baseline's key."""
    if limit is not None and limit < len(part):
        part = Part(part.symbols[:limit], part.starts[part.starts < limit])
    frequencies = {"histogram_bits": histogram_bits(part.symbols, codec.size)}
    if isinstance(codec, Quantiser):
        return frequencies | {"flac_bits": flac_bits(part.symbols, codec)}
    if codec.kind == "audio":
        return frequencies
    return frequencies | {"xz_bits": 8 * packed_bytes(part.symbols, codec) / len(part)}


def histogram_bits(symbols: Symbols, size: int) -> float:
    """The entropy of the frequencies of the symbols (N,), of which there are `size`."""
    counts = np.zeros(size, np.int64)
    for begin in range(0, len(symbols), _BLOCK):
        counts += np.bincount(symbols[begin : begin + _BLOCK], minlength=size)
    shares = counts[counts > 0] / len(symbols)
    return abs(float((shares * np.log2(shares)).sum()))  # of a certain symbol 0, not -0


def text_bytes(symbols: Symbols, codec: TextCodec) -> int:
    """How many bytes the text of symbols (N,) has, in UTF-8; those of a codec of bytes are N."""
    return sum(map(len, _encoded(symbols, codec)))


def packed_bytes(symbols: Symbols, codec: TextCodec) -> int:
    """The size of the text as `xz` packs it, at its own default level."""
    packer = lzma.LZMACompressor()
    return sum(map(len, map(packer.compress, _encoded(symbols, codec)))) + len(packer.flush())


def _encoded(symbols: Symbols, codec: TextCodec) -> Iterator[bytes]:
    """The text of symbols (N,) in UTF-8, or the bytes of a codec of bytes, block by block."""
    for begin in range(0, len(symbols), _BLOCK):
        text = codec.decode(symbols[begin : begin + _BLOCK])
        yield text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def flac_bits(symbols: Symbols, codec: Quantiser) -> float:
    """The size of a FLAC (best compression) of the quantised signal, the levels as integers.

    Up to 256 levels are 8-bit samples around silence, more are 16-bit ones. In bits per symbol; of
    more than a million symbols each million is a file of its own.
    """
    subtype, shift = ("PCM_S8", 8) if codec.levels <= 256 else ("PCM_16", 0)
    rate, size = min(codec.sample_rate, _FLAC_RATE), 0
    for begin in range(0, len(symbols), _BLOCK):
        levels = symbols[begin : begin + _BLOCK].astype(np.int64) - codec.levels // 2
        wave = (levels << shift).astype(np.int16)
        packed = io.BytesIO()
        soundfile.write(packed, wave, rate, subtype, format="FLAC", compression_level=1.0)
        size += len(packed.getvalue())
    return 8 * size / len(symbols)
