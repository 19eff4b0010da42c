"""What a model has to beat: bits per symbol that need no training.

All start from nothing, as a compressor does, and know no more than what they have read of the part
itself. Their memory does not grow with the part.
"""

import io
import lzma
import math
from collections.abc import Callable, Sequence

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

    `watch` hears how many symbols were read, of `len(names)` times as many as there are.
    """
    if limit is not None and limit < len(part):
        part = Part(part.symbols[:limit], part.starts[part.starts < limit])
    found, before = {}, 0

    def within(done: int) -> None:
        watch(before + done)

    for name in names:
        found[name] = _bits(name, part, codec, within)
        before += len(part)
        watch(before)
    return found


def _bits(name: str, part: Part, codec: Codec, watch: Callable[[int], None]) -> float:
    match name:
        case "uniform_bits":
            return math.log2(codec.size)
        case "histogram_bits":
            return histogram_bits(part.symbols, codec.size)
        case "context_bits":
            return count_models.context_bits(part, codec.size, watch)
        case "ngram_bits":
            return count_models.ngram_bits(part, codec.size, watch)
        case "flac_bits" if codec.kind == "audio":
            return flac_bits(part.symbols, codec, watch)
        case "xz_bits" if codec.kind != "audio":
            return 8 * packed_bytes(part.symbols, codec, watch) / len(part)
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


def packed_bytes(
    symbols: Row, codec: TextCodec, watch: Callable[[int], None] = lambda done: None
) -> int:
    """The size of the text as `xz` packs it, at its own default level."""
    least, most = _DICTIONARY
    wanted = min(max(4 * len(symbols), least), most)  # memory for more than there is is not needed
    packer = lzma.LZMACompressor(
        filters=[{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": wanted}]
    )
    size = 0
    for begin in range(0, len(symbols), _BLOCK):
        block = symbols[begin : begin + _BLOCK]
        size += len(packer.compress(_encoded(block, codec)))
        watch(begin + len(block))
    return size + len(packer.flush())


def _encoded(symbols: Symbols, codec: TextCodec) -> bytes:
    """The text of symbols (N,) in UTF-8; the bytes themselves of a codec of bytes."""
    text = codec.decode(symbols)
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text


def flac_bits(
    symbols: Row, codec: Quantiser, watch: Callable[[int], None] = lambda done: None
) -> float:
    """The size of a FLAC (best compression) of the quantised signal, the levels as integers.

    Up to 256 levels are 8-bit samples around silence, more are 16-bit ones. In bits per symbol.
    `watch` hears how many symbols were packed.
    """
    depth = 8 if codec.levels <= 256 else 16
    sink = _Sink()
    rate = min(codec.sample_rate, _FLAC_RATE)
    subtype = "PCM_S8" if depth == 8 else "PCM_16"
    with soundfile.SoundFile(
        sink, "w", rate, codec.channels, subtype, format="FLAC", compression_level=1.0
    ) as file:
        for begin in range(0, len(symbols), _BLOCK):
            levels = codec.levels_of(symbols[begin : begin + _BLOCK]) - codec.levels // 2
            file.write((levels << (16 - depth)).astype(np.int16))
            watch(min(begin + _BLOCK, len(symbols)))
    return 8 * sink.size / len(symbols)


class _Sink:
    """A file that keeps nothing but its size."""

    def __init__(self) -> None:
        self.size = 0
        self._place = 0

    def write(self, data: bytes) -> int:
        self._place += len(data)
        self.size = max(self.size, self._place)
        return len(data)

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        origin = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size}
        self._place = origin[whence] + offset
        return self._place

    def tell(self) -> int:
        return self._place
