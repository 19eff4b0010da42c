"""A part of a corpus of sound as it is learnt from: without silence, along paths that jump.

All silence goes at the start of a document, and what exceeds 0.3 s in a pause. A network cannot
count the samples of a silence. It learns that silence follows silence, and once its own output is
silent, as it is at the start, it stays so. What is not learnt is not asked for either: a validation
part that ends in silence would choose the weights that know silence best.

A short recording tells what follows each of its places, and a network that has learnt it long
enough plays it back. So it reads paths through the recording. A path follows the recording for some
time, then jumps: of all places to leave it and to go on at, it takes the two that are most alike.
Places are compared by the sound just before them, and by the course of the loudness, so that a path
keeps time. Each path begins elsewhere, where it was quiet, so that sounds do not all begin alike.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs import SoundCodec, Spectral
from seqkit.data.codecs.spectral.transform import Rows
from seqkit.data.corpus import Part, stretches
from seqkit.data.sound import Wave
from seqkit.symbols import Floats, Integers, Symbols

_FRAME = 0.02  # seconds over which loudness is taken
_PAUSE = 0.3  # seconds of a pause that are kept
_FRAMES = 2_000_000  # of all paths together, so that none of them is learnt by heart
_FEWEST_PATHS = 3  # of each reading
_SHORTEST = 0.4  # of the longest passage
_FEWEST = 4  # longest passages that a document has; a shorter one is read as it is
_FAR = 1.0  # seconds that a jump skips or goes back at least
_PLACES = 2048  # of a document, that passages may go on after
_NEAREST = 16  # of these, that a frame is left for
_SHARE = 0.25  # of the jumps that there are, of which the best one is taken
_BEGINS = 16  # places that are looked at for the first passage
_BEFORE = (0.02, 0.1, 0.4)  # seconds over which the sound before a place is heard
_COURSE, _STEP = 24, 0.05  # of the loudness: values, and seconds of each
_AT_ONCE = 4096  # frames, of 20 ms or of the codec


class _Jumps(NamedTuple):
    """Where a document may be left: after each frame for some places, (F, K).

    places: the frames before them.
    apart: how far what was heard before them is from what was heard before the frame.
    """

    places: Integers
    apart: Rows


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
        for first, last in pairwise(cuts):
            kept = 0 if begins[first] else pause
            keep[first + (kept + 1) // 2 : max(last - kept // 2, first + (kept + 1) // 2)] = False
    return keep


def _levels(blocks: Iterable[Floats], count: int) -> Floats:
    """The means of so many powers; at the end there may be fewer."""
    sums = [np.add.reduceat(block, np.arange(0, len(block), count)) for block in blocks]
    return np.concatenate(sums) / count


def paths(readings: Sequence[Part], codec: Spectral, longest: float) -> Part:
    """Paths through readings of a recording, in passages of `longest` seconds at most.

    Each is as long as its reading. It jumps from one document to another, too, unless these have
    labels; then it has the documents of its reading, and one that is too short to jump in stays as
    it is.
    """
    rng, rate, made = np.random.default_rng(0), codec.sample_rate / codec.hop, list[Part]()
    most, far = round(longest * rate), round(_FAR * rate)
    count = max(_FEWEST_PATHS, -(-_FRAMES // (sum(map(len, readings)) // codec.phases)))
    for part in readings:
        starts = part.starts[:1] if part.labels is None else part.starts
        drawn = [part.symbols.copy() for _ in range(count)]
        for begin, end in pairwise([*starts.tolist(), len(part)]):
            frames = part.symbols[begin:end].reshape(-1, codec.phases)
            if len(frames) < max(_FEWEST * most, 2 * far + most):
                continue
            powers, read = codec.powers(part.symbols[begin:end]), np.zeros(len(frames))
            jumps = _jumps(_described(frames, codec), most, far, rng)
            for symbols in drawn:
                looked_at = rng.integers(0, len(frames) - most, _BEGINS)
                quiet = int(looked_at[powers[looked_at].argmin()])
                symbols[begin:end] = frames[_path(jumps, quiet, most, read, rng)].reshape(-1)
        made += [dataclasses.replace(part, symbols=own, starts=starts) for own in drawn]
    return made[0].and_then(*made[1:])


def _jumps(described: Rows, most: int, far: int, rng: np.random.Generator) -> _Jumps:
    """The jumps to the nearest of the places that are `far` frames away or more.

    `described` (F, D) is what was heard before the end of each frame; after each of the places at
    least `most` frames follow. Of a long document places are drawn.
    """
    count = len(described)
    others = rng.permutation(count - most)[:_PLACES]
    squares, kept = np.square(described).sum(1), list[_Jumps]()
    for begin in range(0, count, _AT_ONCE):
        here = np.arange(begin, min(begin + _AT_ONCE, count))
        apart = squares[here, None] + squares[others] - 2 * described[here] @ described[others].T
        apart[np.abs(here[:, None] - others) < far] = np.inf
        most_near = min(_NEAREST, len(others) - 1)
        nearest = np.argpartition(apart, most_near)[:, :most_near]
        kept.append(_Jumps(others[nearest], np.take_along_axis(apart, nearest, 1)))
    return _Jumps(*(np.concatenate(parts) for parts in zip(*kept, strict=True)))


def _path(jumps: _Jumps, begin: int, most: int, read: Floats, rng: np.random.Generator) -> Integers:
    """The frames (F,) of a path through a document.

    It begins at a frame; a passage has `most` frames. `read` (F,) is how often each frame was read,
    and is counted on: only jumps to frames that were read more seldom than the mean are taken.
    """
    count = len(jumps.places)
    passages, length = list[Integers](), 0
    while length < count:
        ends = slice(begin + round(_SHORTEST * most), min(begin + most, count))
        places = jumps.places[ends]
        seldom = read[places + 1] + rng.random(places.shape)
        drawn = rng.random(places.shape) < _SHARE
        drawn &= seldom <= seldom.mean()
        apart = np.where(drawn, jumps.apart[ends], np.inf)
        from_end, which = np.unravel_index(apart.argmin(), apart.shape)
        passages.append(np.arange(begin, ends.start + int(from_end) + 1))
        read[passages[-1]] += 1
        length, begin = length + len(passages[-1]), int(places[from_end, which]) + 1
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
