"""What a model has to beat: bits per symbol that need no training.

Those of text are in `text_baselines`. Those of sound read the symbols in blocks; their memory does
not grow with the sound, except for that of `context_bits` with more than some 300 levels, which
grows with the different contexts.
"""

import io
import math
from collections.abc import Callable, Iterator

import numpy as np
import soundfile

from seqkit.data.codecs import Codec, Quantiser
from seqkit.data.corpus import Corpus, Part, Row
from seqkit.evaluation import text_baselines
from seqkit.symbols import Integers

_STRENGTHS = (1.0, 64.0, 64.0)  # a0, a1 and a2: pseudo-counts of the orders 0, 1 and 2
_PASSES = 3  # over the symbols
_BLOCK = 1 << 20  # samples read at a time
_LARGEST_TABLE = 1 << 25  # counts; beyond it only contexts that occur have one
_FLAC_RATE = 192_000  # hertz that FLAC takes; the rate has no effect on the size


def beside_score(
    part: Part, corpus: Corpus, watch: Callable[[int], None] = lambda done: None
) -> dict[str, float | None]:
    """What a score is read beside: every baseline of the part, in bits per symbol.

    Of sound that is also the signal to noise ratio of quantising its corpus, in decibels. `watch`
    hears how many symbols were read, of `passes` times as many as the part has.
    """
    codec = corpus.codec
    if codec.kind != "audio":
        return {**text_baselines.all_of(part, codec, watch)}
    return {**all_of(part, codec, watch), "quantiser_snr_db": corpus.snr}


def quick(part: Part, codec: Codec) -> dict[str, float]:
    """Baselines of the first million symbols of a part, in bits per symbol, for text, too.

    `uniform_bits` is what it takes to name one of all symbols; the others are those of `all_of`.
    """
    begin = Part(part.symbols[:_BLOCK], part.starts[part.starts < _BLOCK])
    found = {"uniform_bits": math.log2(codec.size)}
    if codec.kind == "audio":
        return found | all_of(begin, codec)
    return found | {
        "histogram_bits": histogram_bits(begin.symbols, codec.size),
        "context_bits": context_bits(begin, codec.size),
    }


def passes(codec: Codec) -> int:
    """How often the baselines of a codec's symbols read a part."""
    return _PASSES if codec.kind == "audio" else text_baselines.PASSES


def all_of(
    part: Part, codec: Quantiser, watch: Callable[[int], None] = lambda done: None
) -> dict[str, float]:
    """Every baseline of a part of sound, in bits per symbol; `watch` as in `beside_score`."""
    found = {"histogram_bits": histogram_bits(part.symbols, codec.size)}
    watch(len(part))
    found["context_bits"] = context_bits(part, codec.size, lambda done: watch(len(part) + done))
    found["flac_bits"] = flac_bits(part.symbols, codec, lambda done: watch(2 * len(part) + done))
    return found


def histogram_bits(symbols: Row, size: int) -> float:
    """The entropy of the frequencies of the symbols (N,), of which there are `size`."""
    counts = np.zeros(size, np.int64)
    for begin in range(0, len(symbols), _BLOCK):
        counts += np.bincount(symbols[begin : begin + _BLOCK], minlength=size)
    shares = counts[counts > 0] / len(symbols)
    return abs(float((shares * np.log2(shares)).sum()))  # of a certain symbol 0, not -0


def context_bits(
    part: Part,
    size: int,
    watch: Callable[[int], None] = lambda done: None,
    block: int | None = None,
) -> float:
    """An adaptive model of the last two symbols u, v of the same document.

    Each symbol s is coded with what was counted before it (n), in the whole part so far:

        p0(s)     = (n(s)     + a0 / V)         / (n     + a0)
        p1(s|v)   = (n(vs)    + a1 p0(s))       / (n(v)  + a1)
        p2(s|u,v) = (n(uvs)   + a2 p1(s|v))     / (n(uv) + a2)

    with a0 = 1 and a1 = a2 = 64: a Dirichlet prior of each order around the one below (MacKay and
    Peto, 1995). n(v) counts how often v was followed by anything. Before a document's first symbol
    u and v are a mark that is no symbol, before its second u is. Like FLAC it starts from nothing.

    A smaller `block`, of symbols that are read at a time, takes less memory: the tables then hold
    only contexts that occur.
    """
    contexts = size + 1
    most = block or _LARGEST_TABLE
    singles = _Counter(size, most)
    orders = [
        (_Counter(contexts, most), _Counter(contexts * size, most), _STRENGTHS[1]),
        (_Counter(contexts**2, most), _Counter(contexts**2 * size, most), _STRENGTHS[2]),
    ]
    bits, done = 0.0, 0
    for now, one, two in _with_contexts(part, size, block or _BLOCK):
        total = np.arange(done, done + len(now))
        p = (singles.add(now) + _STRENGTHS[0] / size) / (total + _STRENGTHS[0])
        keys = (one, two * contexts + one)
        for context, (before, with_now, strength) in zip(keys, orders, strict=True):
            p = (with_now.add(context * size + now) + strength * p) / (
                before.add(context) + strength
            )
        bits -= float(np.log2(p).sum())
        done += len(now)
        watch(done)
    return bits / done


def _with_contexts(
    part: Part, mark: int, size: int
) -> Iterator[tuple[Integers, Integers, Integers]]:
    """Blocks of symbols (n,), with the symbol before each and the one before that."""
    for begin in range(0, len(part), size):
        end = min(begin + size, len(part))
        block = np.full(end - begin + 2, mark, np.int64)
        known = max(begin - 2, 0)
        block[known - begin + 2 :] = part.symbols[known:end]
        now, one, two = block[2:], block[1:-1].copy(), block[:-2].copy()
        first = np.searchsorted(part.starts, [begin - 1, end])
        starts = part.starts[slice(*first)] - begin
        one[starts[starts >= 0]] = mark
        two[starts[starts >= 0]] = mark
        two[starts[starts < len(now) - 1] + 1] = mark
        yield now, one, two


class _Counter:
    """How often each of so many keys was seen: a table, or a sorted one of those that occur."""

    def __init__(self, keys: int, most: int) -> None:
        """There are `keys` keys, and a table if they are no more than `most`."""
        dense = keys <= most
        self._keys = None if dense else np.zeros(0, np.int64)
        self._counts = np.zeros(keys if dense else 0, np.int64)

    def add(self, keys: Integers) -> Integers:
        """Count the keys (n,), one after the other; how often each was seen before its turn."""
        order = np.argsort(keys, kind="stable")
        ordered = keys[order]
        new = np.concatenate([[True], ordered[1:] != ordered[:-1]])
        first = np.flatnonzero(new)
        times = np.diff(first, append=len(keys))
        seen = self._add(ordered[first], times)
        counts = np.empty_like(keys)
        counts[order] = np.arange(len(keys)) + np.repeat(seen - first, times)
        return counts

    def _add(self, keys: Integers, times: Integers) -> Integers:
        """Count distinct keys (n,) in order, each several times; how often each was seen before."""
        if self._keys is None:
            seen = self._counts[keys]
            self._counts[keys] = seen + times
            return seen
        places = np.searchsorted(self._keys, keys)
        known = places < len(self._keys)
        known[known] = self._keys[places[known]] == keys[known]
        seen = np.zeros_like(keys)
        seen[known] = self._counts[places[known]]
        self._counts[places[known]] += times[known]
        self._keys = np.insert(self._keys, places[~known], keys[~known])
        self._counts = np.insert(self._counts, places[~known], times[~known])
        return seen


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
