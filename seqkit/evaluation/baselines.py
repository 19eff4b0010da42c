"""What a model has to beat: bits per symbol that need no training.

All start from nothing, as a compressor does, and know no more than what they have read of the part
itself. Their memory does not grow with the part.
"""

import lzma
from collections.abc import Iterator

import numpy as np

from seqkit.data.codecs import Codec, TextCodec
from seqkit.data.corpus import Part
from seqkit.symbols import Symbols

SAMPLE = 1 << 18
"""Symbols, of which the baselines of a run are: the first of its validation part."""

_BLOCK = 1 << 20  # symbols read at a time
_NOUNS = {"text": "character", "bytes": "byte"}

NAMES = {"histogram_bits": "guessing by frequency", "xz_bits": "xz"}
"""By their keys in about.json and JSON results."""


def noun(kind: str) -> str:
    """What a symbol of text, bytes or sound is called."""
    return _NOUNS.get(kind, "symbol")


def baselines(part: Part, codec: Codec, limit: int | None = None) -> dict[str, float]:
    """Bits per symbol of a part, or of its first `limit` symbols, by the baseline's key."""
    if limit is not None and limit < len(part):
        part = Part(part.symbols[:limit], part.starts[part.starts < limit])
    frequencies = {"histogram_bits": histogram_bits(part.symbols, codec.size)}
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
