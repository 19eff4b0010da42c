"""A recording read along paths that jump, so that none of it is learnt by heart in long passages.

A short recording tells what follows each of its places, and a network that has learnt it long
enough plays it back. So it reads paths through the recording. A path follows the recording for some
time, then jumps: of all places to leave it and to go on at, it takes the two that are most alike.
Places are compared by the sound just before them, and by the course of the loudness, so that a path
keeps time. Each path begins elsewhere, where it was quiet, so that sounds do not all begin alike.
"""

import dataclasses
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from seqkit.data.codecs import Spectral
from seqkit.data.codecs.spectral.transform import Rows
from seqkit.data.corpus import Part
from seqkit.symbols import Integers, Symbols

_PATHS = 3  # of each reading
_SHORTEST = 0.4  # of the longest passage
_FEWEST = 4  # longest passages that a document has; a shorter one is read as it is
_FAR = 1.0  # seconds that a jump skips or goes back at least
_MOST = 512  # places that are looked at for a jump
_BEGINS = 16  # places that are looked at for the first passage
_BEFORE = (0.02, 0.1, 0.4)  # seconds over which the sound before a place is heard
_COURSE, _STEP = 24, 0.05  # of the loudness: values, and seconds of each
_AT_ONCE = 4096  # frames


def paths(readings: Sequence[Part], codec: Spectral, longest: float) -> Part:
    """Paths through readings of a recording, in passages of `longest` seconds at most.

    Each has the documents of its reading, as long as they were. A document that is too short to
    jump in stays as it is.
    """
    rng = np.random.default_rng(0)
    parts = [path for reading in readings for path in _jumping(reading, codec, longest, rng)]
    return parts[0].and_then(*parts[1:])


def _jumping(part: Part, codec: Spectral, longest: float, rng: np.random.Generator) -> list[Part]:
    """Paths through one reading; the reading itself where there is no jump in it."""
    most = round(longest * codec.sample_rate / codec.hop)
    drawn = [part.symbols.copy() for _ in range(_PATHS)]
    jumps = False
    for begin, end in pairwise([*part.starts.tolist(), len(part)]):
        frames = part.symbols[begin:end].reshape(-1, codec.phases)
        if len(frames) < _FEWEST * most:
            continue
        jumps, places = True, _described(frames, codec)
        powers = codec.powers(part.symbols[begin:end])
        for symbols in drawn:
            looked_at = rng.integers(0, len(frames) - most, _BEGINS)
            quiet = int(looked_at[powers[looked_at].argmin()])
            order = _path(places, quiet, most, round(_FAR / longest * most), rng)
            symbols[begin:end] = frames[order].reshape(-1)
    return [dataclasses.replace(part, symbols=symbols) for symbols in drawn] if jumps else [part]


def _path(places: Rows, begin: int, most: int, far: int, rng: np.random.Generator) -> Integers:
    """The frames (F,) of a path through described frames (F, D).

    Args:
        places: how the sound is when each frame has been heard.
        begin: the frame that comes first.
        most: frames of a passage.
        far: frames between the places of a jump, at least.
        rng: draws places that a passage may go on at, of which the half that was read least counts.
    """
    count, squares = len(places), np.square(places).sum(1)
    read = np.zeros(count)  # how often each frame was, so that all of them are as often
    passages = list[Integers]()
    length = 0
    while length < count:
        ends = np.arange(begin + round(_SHORTEST * most), min(begin + most, count))
        drawn = rng.integers(0, count - most, 2 * _MOST)
        others = drawn[np.argsort(read[drawn + 1], kind="stable")[:_MOST]]
        apart = squares[ends, None] + squares[others] - 2 * places[ends] @ places[others].T
        apart[np.abs(ends[:, None] - others) < far] = np.inf
        from_end, to = np.unravel_index(apart.argmin(), apart.shape)
        passages.append(np.arange(begin, int(ends[from_end]) + 1))
        read[passages[-1]] += 1
        length, begin = length + len(passages[-1]), int(others[to]) + 1
    return np.concatenate(passages)[:count]


def _described(frames: Symbols, codec: Spectral) -> Rows:
    """What was heard just before the end of each of the frames (F, P), as numbers (F, D)."""
    blocks = range(0, len(frames), _AT_ONCE)
    bands = np.concatenate([_bands(frames[at : at + _AT_ONCE], codec) for at in blocks])
    bands = (bands - bands.mean(0)) / max(float(bands.std()), 1e-6)
    loudness = bands.mean(1, keepdims=True)
    loudness /= max(float(loudness.std()), 1e-6)
    rate = codec.sample_rate / codec.hop
    parts = [_mean(bands, 0, round(seconds * rate)) for seconds in _BEFORE]
    step = max(1, round(_STEP * rate))
    course = [_mean(loudness, number * step, step) for number in range(_COURSE)]
    parts = [part / np.sqrt(len(_BEFORE) * part.shape[1]) for part in parts]
    return np.concatenate([*parts, *(value / np.sqrt(_COURSE) for value in course)], 1)


def _bands(frames: Symbols, codec: Spectral) -> Rows:
    """The mean of the rows in each band of each channel, (F, C bands)."""
    layout = codec.layout
    rows = codec.rows(frames.reshape(-1))[:, : layout.channels * layout.bins]
    levels = rows.reshape(len(frames), layout.channels, layout.bins)
    counts = np.diff([*layout.edges, layout.bins])
    means = np.add.reduceat(levels, layout.edges, -1) / counts
    return np.asarray(means.reshape(len(frames), -1), np.float32)


def _mean(values: Rows, ago: int, count: int) -> Rows:
    """The mean of the `count` rows that end so many before each row of (F, D), or of fewer."""
    sums = np.concatenate([np.zeros_like(values[:1], np.float64), values.cumsum(0, np.float64)])
    end = np.maximum(np.arange(1, len(values) + 1) - ago, 0)
    begin = np.maximum(end - max(count, 1), 0)
    counts = np.maximum(end - begin, 1)
    return np.asarray((sums[end] - sums[begin]) / counts[:, None], np.float32)
