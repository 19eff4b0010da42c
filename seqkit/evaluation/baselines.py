"""What a model of sound has to beat: bits per sample that need no training."""

import io

import numpy as np
import numpy.typing as npt
import soundfile

from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.symbols import Symbols

_STRENGTH = (1.0, 64.0, 64.0)  # pseudo-counts of orders 0, 1 and 2
_BLOCK = 1 << 20  # samples handed to the FLAC encoder at a time

Counts = npt.NDArray[np.int64]


def all_of(part: Part, codec: Quantiser) -> dict[str, float]:
    """Every yardstick of a part, in bits per sample."""
    return {
        "histogram_bits": histogram_bits(part.symbols, codec.size),
        "context_bits": context_bits(part, codec.size),
        "flac_bits": flac_bits(part.symbols, codec),
    }


def histogram_bits(symbols: Symbols, size: int) -> float:
    """The entropy of the frequencies of the symbols (N,), of which there are `size`."""
    counts = np.bincount(symbols, minlength=size)
    shares = counts[counts > 0] / len(symbols)
    return float(-(shares * np.log2(shares)).sum())


def context_bits(part: Part, size: int) -> float:
    """An adaptive model of the last two symbols of the same document.

    Each symbol s is coded with what was counted before it (n), in the whole part so far:

        p0(s)     = (n(s)     + a0 / V)         / (n     + a0)
        p1(s|v)   = (n(vs)    + a1 p0(s))       / (n(v)  + a1)
        p2(s|u,v) = (n(uvs)   + a2 p1(s|v))     / (n(uv) + a2)

    with a0 = 1 and a1 = a2 = 64: a Dirichlet prior of each order around the one below (MacKay and
    Peto, 1995). n(v) counts how often v was followed by anything. A document's first two symbols
    have a mark that is no symbol before them. It starts from nothing, as FLAC does.
    """
    now = np.asarray(part.symbols, dtype=np.int64)
    one, two = np.roll(now, 1), np.roll(now, 2)
    seconds = part.starts + 1
    one[part.starts] = two[part.starts] = size
    two[seconds[seconds < len(now)]] = size
    context = two * (size + 1) + one
    p = (_occurrences(now) + _STRENGTH[0] / size) / (np.arange(len(now)) + _STRENGTH[0])
    for before, strength in ((one, _STRENGTH[1]), (context, _STRENGTH[2])):
        with_now = before * size + now
        p = (_occurrences(with_now) + strength * p) / (_occurrences(before) + strength)
    return float(-np.log2(p).mean())


def _occurrences(keys: Counts) -> Counts:
    """How often each key (N,) stands before its own place."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    place = np.arange(len(keys))
    counts = np.empty_like(place)
    counts[order] = place - np.maximum.accumulate(np.where(first, place, 0))
    return counts


def flac_bits(symbols: Symbols, codec: Quantiser) -> float:
    """The size of a FLAC (best compression) of the quantised signal, the levels as integers.

    Up to 256 levels are 8-bit samples around silence, more are 16-bit ones.
    """
    depth = 8 if codec.size <= 256 else 16
    content = io.BytesIO()
    rate = min(codec.sample_rate, 192_000)
    with soundfile.SoundFile(
        content, "w", rate, 1, f"PCM_{'S8' if depth == 8 else '16'}", format="FLAC",
        compression_level=1.0,
    ) as file:  # fmt: skip
        for begin in range(0, len(symbols), _BLOCK):
            levels = symbols[begin : begin + _BLOCK].astype(np.int32) - codec.size // 2
            file.write((levels << (16 - depth)).astype(np.int16))
    return 8 * len(content.getvalue()) / len(symbols)
