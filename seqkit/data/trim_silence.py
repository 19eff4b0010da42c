"""Silence is left out of the parts of a corpus of sound.

All of it goes at the start of a document, and what exceeds 0.3 s in a pause.

A network cannot count the samples of a silence. It learns that silence follows silence, and once
its own output is silent, as it is at the start, it stays so. What is not learnt is not asked for
either: a validation part that ends in silence would choose the weights that know silence best.
"""

import itertools

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part

_FRAME = 0.02  # seconds over which loudness is taken
_PAUSE = 0.3  # seconds of a pause that are kept
_BLOCK = 1 << 12  # frames at a time


def without_silence(part: Part, codec: Quantiser, decibels: float) -> Part:
    """The part without what is so many decibels below its loudest 20 ms, but for short pauses.

    A document begins with its first frame that is louder. Of a later pause 0.3 s are kept. A part
    that is silent altogether stays as it is.
    """
    size = max(1, round(_FRAME * codec.sample_rate)) * codec.phases
    levels = _levels(part, codec, size)
    quiet = levels <= levels.max() * 10 ** (-decibels / 10)
    if not levels.max():
        return part
    begins = np.zeros(len(quiet), bool)
    begins[part.starts // size] = True
    keep = np.ones(len(quiet), bool)
    edges = np.flatnonzero(np.diff(quiet.astype(np.int8), prepend=0, append=0))
    for begin, end in edges.reshape(-1, 2).tolist():
        cuts = [begin, *(begin + np.flatnonzero(begins[begin:end])).tolist(), end]
        for first, last in itertools.pairwise(cuts):
            kept = 0 if begins[first] else round(_PAUSE / _FRAME)
            keep[first + (kept + 1) // 2 : max(last - kept // 2, first + (kept + 1) // 2)] = False
    kept_before = np.concatenate([[0], np.cumsum(keep)])
    frames, within = np.divmod(part.starts, size)
    moved = kept_before[frames] * size + np.where(keep[frames], within, 0)
    edges = np.flatnonzero(np.diff(keep.astype(np.int8), prepend=0, append=0)) * size
    pieces = [part.symbols[begin:end] for begin, end in edges.reshape(-1, 2).tolist()]
    symbols = np.concatenate(pieces)
    starts = np.unique(moved[moved < len(symbols)]).astype(np.int64)
    return Part(symbols, starts, frame=part.frame)


def _levels(part: Part, codec: Quantiser, size: int) -> npt.NDArray[np.float64]:
    """The mean power (frames,) of frames of so many symbols; the last one may be shorter."""
    found, samples = [], size // codec.phases
    for begin in range(0, len(part), _BLOCK * size):
        heard = codec.frames(part.symbols[begin : begin + _BLOCK * size])
        power = np.square(heard, dtype=np.float64).mean(1)
        starts = np.arange(0, len(power), samples)
        found.append(np.add.reduceat(power, starts) / samples)
    return np.concatenate(found)
