"""Baselines of a sample of a part, within little memory: bits a symbol."""

import lzma
import math
from collections.abc import Callable

import numpy as np

from seqkit.data.codecs import Codec
from seqkit.data.corpus import Part
from seqkit.doctor.text import pieces
from seqkit.evaluation import baselines, text_baselines
from seqkit.symbols import Symbols

SAMPLE = 1 << 18  # symbols that are predicted; more would take more memory than there is for it
PACKED = 16_000_000  # symbols that are compressed by xz
_DICTIONARY = 1 << 21  # bytes; xz has four times as many by default, and takes as much more memory
_PIECE = 1 << 20  # symbols packed at a time
_BLOCK = 1 << 17  # symbols read at a time


def of(part: Part, codec: Codec, watch: Callable[[int], None]) -> dict[str, float]:
    """Every baseline of a part; `watch` is told how many of the symbols for xz were packed.

    All but xz, which takes a larger one, are of a sample of 262,144 symbols: the beginning.
    """
    begin = Part(np.array(part.symbols[:SAMPLE]), part.starts[part.starts < SAMPLE])
    found = {
        "uniform_bits": math.log2(codec.size),
        "histogram_bits": baselines.histogram_bits(begin.symbols, codec.size),
        "context_bits": baselines.context_bits(begin, codec.size, block=_BLOCK),
    }
    if codec.kind == "audio":
        return {**found, "flac_bits": baselines.flac_bits(begin.symbols, codec)}
    found["ngram_bits"] = text_baselines.ngram_bits(begin, codec.size)
    packer = lzma.LZMACompressor(
        filters=[{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": _DICTIONARY}]
    )
    packed = symbols = 0
    for piece in pieces(part, PACKED):
        for begins in range(0, len(piece), _PIECE):
            block = piece[begins : begins + _PIECE]
            packed += len(packer.compress(text_baselines.encoded(block, codec)))
            symbols += len(block)
            watch(symbols)
    return {**found, "xz_bits": 8 * (packed + len(packer.flush())) / symbols}


def of_validation(training: Part, validation: Part, codec: Codec) -> float:
    """What the validation part costs a model that needs no network, bits a symbol.

    It is a Kneser-Ney model of text, and a table of what follows two symbols of sound. It reads the
    end of the training part before, and both together are a sample of 262,144 symbols. Without a
    validation part it is the training part's.
    """
    after = np.array(validation.symbols[: SAMPLE // 4])
    before = np.array(training.symbols[-(SAMPLE - len(after)) :])
    if not len(after):
        return _bits(before, codec) / len(before)
    both = np.concatenate([before, after])
    return (_bits(both, codec) - _bits(before, codec)) / len(after)


def _bits(symbols: Symbols, codec: Codec) -> float:
    part = Part.of(symbols)
    if codec.kind == "audio":
        return baselines.context_bits(part, codec.size, block=_BLOCK) * len(part)
    return text_baselines.ngram_bits(part, codec.size) * len(part)
