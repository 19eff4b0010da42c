"""A part of a corpus of sound, and a wave, without silence.

All silence goes at the start of a document, and what exceeds 0.3 s in a pause. A network cannot
count the samples of a silence. It learns that silence follows silence, and once its own output is
silent, as it is at the start, it stays so. What is not learnt is not asked for either: a validation
part that ends in silence would choose the weights that know silence best.
"""

import itertools
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs import SoundCodec
from seqkit.data.corpus import Part, stretches
from seqkit.data.sound import Wave
from seqkit.symbols import Floats, Integers

_FRAME = 0.02  # seconds over which loudness is taken
_PAUSE = 0.3  # seconds of a pause that are kept
_AT_ONCE = 1 << 12  # frames of 20 ms


def without_silence(part: Part, codec: SoundCodec, decibels: float) -> Part:
    """The part without what is so many decibels below its loudest 20 ms, but for short pauses.

    A document begins with its first frame that is louder. Of a later pause 0.3 s are kept. A part
    that is silent altogether stays as it is; and so does every part at 0 decibels.
    """
    if not (decibels and len(part)):
        return part
    size = max(codec.phases, codec.symbols_of(_FRAME * codec.sample_rate))
    row, most = part.symbols, _AT_ONCE * size
    blocks = (codec.powers(row[begin : begin + most]) for begin in range(0, len(row), most))
    levels = _levels(blocks, size // codec.phases)
    pause = round(_PAUSE * codec.symbol_rate / size)
    keep = _kept(levels, part.starts // size, decibels, pause)
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    frames, within = np.divmod(part.starts, size)
    moved = kept_before[frames] * size + np.where(keep[frames], within, 0)
    edges = np.flatnonzero(np.diff(keep.astype(np.int8), prepend=0, append=0))
    symbols = stretches(part.symbols, *np.minimum(edges.reshape(-1, 2) * size, len(part)).T)
    documents = (moved < len(symbols)) & np.append(moved[1:] > moved[:-1], True)
    return Part(
        symbols,
        moved[documents].astype(np.int64),
        frame=part.frame,
        labels=None if part.labels is None else part.labels[documents],
    )


def wave_without_silence(wave: Wave, starts: Integers, sample_rate: int, decibels: float) -> Wave:
    """The same of a wave (N,), whose documents begin at `starts` (D,); all of it at 0 decibels."""
    if not decibels:
        return wave
    size = round(_FRAME * sample_rate)
    power = np.square(wave, dtype=np.float64)
    keep = _kept(_levels([power], size), starts // size, decibels, round(_PAUSE / _FRAME))
    return wave[np.repeat(keep, size)[: len(wave)]]


def _kept(levels: Floats, starts: Integers, decibels: float, pause: int) -> npt.NDArray[np.bool_]:
    """Which frames (n,) are kept, of a pause so many; documents begin in those at `starts` (D,)."""
    keep, begins = np.ones(len(levels), bool), np.zeros(len(levels), bool)
    if not levels.max():
        return keep
    quiet = levels <= levels.max() * 10 ** (-decibels / 10)
    begins[starts] = True
    edges = np.flatnonzero(np.diff(quiet.astype(np.int8), prepend=0, append=0))
    for begin, end in edges.reshape(-1, 2).tolist():
        cuts = [begin, *(begin + np.flatnonzero(begins[begin:end])).tolist(), end]
        for first, last in itertools.pairwise(cuts):
            kept = 0 if begins[first] else pause
            keep[first + (kept + 1) // 2 : max(last - kept // 2, first + (kept + 1) // 2)] = False
    return keep


def _levels(blocks: Iterable[Floats], count: int) -> Floats:
    """The means of so many powers; at the end there may be fewer."""
    sums = [np.add.reduceat(block, np.arange(0, len(block), count)) for block in blocks]
    return np.concatenate(sums) / count
