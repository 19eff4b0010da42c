"""The sound that is learnt from: without silence, and with copies that are changed a little.

All silence goes at the start of a document, and what exceeds 0.3 s in a pause. A network cannot
count the samples of a silence. It learns that silence follows silence, and once its own output is
silent, as it is at the start, it stays so. What is not learnt is not asked for either: a validation
part that ends in silence would choose the weights that know silence best.

Copies make much to learn from little.

A network that hears half a minute again and again learns it by heart. Every copy is the whole part
at another pitch (resampled, so that it is faster or slower, too), quieter, and every other one with
the opposite polarity. Most copies differ little, and a few much: a model that has heard every
pitch equally often makes all of them, not the recording's. What is drawn for a copy depends on the
seed and its number only.
"""

import dataclasses
import itertools
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from seqkit.config import DataConfig
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.data.sound import Frames, Wave, slow_codes
from seqkit.data.sound.resample import resampled
from seqkit.data.sound.slow_codes import Codebook
from seqkit.foundation import machine
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.randomness import uniforms

_FRAME = 0.02  # seconds over which loudness is taken
_PAUSE = 0.3  # seconds of a pause that are kept
_LISTENED = 1 << 12  # frames at a time
_ENOUGH = 1200  # seconds of sound that the copies together have by themselves
_MOST = 64  # copies that are made by themselves
_STEPS = 250  # ratios of pitch are whole steps of 0.4 %
_NOISES = (0.0, 0.25, 0.5, 1.0)  # of data.copy_noise, a quarter of the pieces each
_BEGINNING = 0.008  # seconds of silence that a piece is heard to begin with, at most
_WRONG = 0.3  # deviations by which a frame's description is wrong
_UNTOLD = 0.1  # share of pieces of which no code is told
_STREAM = (1 << 32) + 1  # of draws; no sample has it, nor have the lanes
_BLOCK = 1 << 18  # symbols that are read at a time, whole frames


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
    for begin in range(0, len(part), _LISTENED * size):
        heard = codec.frames(part.symbols[begin : begin + _LISTENED * size])
        power = np.square(heard, dtype=np.float64).mean(1)
        starts = np.arange(0, len(power), samples)
        found.append(np.add.reduceat(power, starts) / samples)
    return np.concatenate(found)


def count(config: DataConfig, seconds: float) -> int:
    """How many copies `data.copies` asks for of so many seconds of sound."""
    if config.copies is not None:
        return config.copies
    return min(round(_ENOUGH / max(seconds, 1e-9)), _MOST)


def with_copies(
    part: Part,
    codec: Quantiser,
    config: DataConfig,
    copies: int,
    seed: int,
    progress: Progress = unseen,
) -> Part:
    """The part, and so many copies of it behind it as documents of their own.

    Args:
        part: of sound.
        codec: of its symbols.
        config: how far copies differ.
        copies: how many.
        seed: of what is drawn.
        progress: shows how far they are.

    Raises:
        DeviceError: the memory does not suffice.
    """
    if not copies:
        return part
    drawn = [_drawn(config, number, copies, seed) for number in range(copies)]
    frame = part.frame
    # Rounded up: see `Resampler`.
    sizes = [-(-len(part) // frame * _STEPS // pitch) * frame for pitch, _ in drawn]
    ends = np.cumsum([len(part), *sizes])
    free = machine.free_bytes(machine.HOST)
    needed = int(ends[-1]) * part.symbols.itemsize
    machine.require(needed, free, f"data.copies={copies}", str)
    symbols, starts = np.empty(ends[-1], part.symbols.dtype), [part.starts]
    symbols[: len(part)] = part.symbols
    with progress("copies", copies) as bar:
        for number, (pitch, factor) in enumerate(drawn):
            done = begin = ends[number]
            for frames in resampled(_blocks(part, codec), pitch, _STEPS, codec.channels):
                encoded = codec.encode(frames * np.float32(factor))
                symbols[done : done + len(encoded)] = encoded
                done += len(encoded)
            begins = np.unique(-(-part.starts // frame * _STEPS // pitch)) * frame
            starts.append(begin + begins[begins < sizes[number]])
            bar.update(number + 1)
    return Part(symbols, np.concatenate(starts), frame=frame)


def with_codes(
    part: Part, codec: Quantiser, book: Codebook, config: DataConfig, copies: int, seed: int
) -> Part:
    """The part, told by codes, and so many copies of it that teach a network to bear errors.

    A copy is cut into pieces of 0.1 to 1 s. Each begins in mid-note, half of them after up to 8 ms
    of silence; what is read of it has noise, its codes are those of frames that are a little wrong,
    and of one in ten no code is told. What is to be predicted stays the recording's.
    """
    hop, frame, rate = book.hop * codec.phases, part.frame, codec.symbol_rate
    described, size = book.describe(_mono(part, codec)), len(part)
    draw = np.random.default_rng([seed, _STREAM])
    symbols = np.asarray(part.symbols[:])
    codes = [np.repeat(book.codes(described), hop)[:size]]
    heard, starts = [symbols], [part.starts]
    noisy = frame == codec.channels  # of two symbols a sample, a wrong one is far off
    for number in range(copies):
        lengths = draw.integers(rate // 10, rate + 1, 11 * size // rate + 2) // frame * frame
        begins = np.unique([*part.starts, *(cuts := np.cumsum(lengths))[cuts < size]])
        ends = np.append(begins[1:], size)
        count, told = len(begins), np.diff(np.append(begins, size))
        sizes = draw.choice(_NOISES, count) * config.copy_noise * noisy
        wrong = draw.standard_normal(size) * np.repeat(sizes, told) * codec.levels / 256
        read = np.clip(np.round(symbols + wrong), 0, codec.size - 1).astype(symbols.dtype)
        silent = draw.integers(1, round(_BEGINNING * rate) + 1, count) // frame * frame
        silent *= draw.random(count) < 0.5
        for begin, end in zip(begins, np.minimum(begins + silent, ends), strict=True):
            read[begin:end] = np.resize(codec.silent_frame, end - begin)
        moved = described + _WRONG * draw.standard_normal(described.shape).astype(np.float32)
        row = np.repeat(book.codes(moved), hop)[:size]
        row[np.repeat(draw.random(count) < _UNTOLD, told)] = 0
        heard.append(read)
        codes.append(row)
        starts.append(begins + (number + 1) * size)
    return Part(
        np.tile(symbols, copies + 1),
        np.concatenate(starts),
        frame=frame,
        heard=np.concatenate(heard),
        conditions=np.concatenate(codes),
    )


def told(part: Part, codec: Quantiser, book: Codebook) -> Part:
    """The part with its codes."""
    row = book.codes(book.describe(_mono(part, codec)))
    conditions = np.repeat(row, book.hop * codec.phases)[: len(part)]
    return dataclasses.replace(part, conditions=conditions)


def _mono(part: Part, codec: Quantiser) -> Wave:
    """The mean of its channels, (N,)."""
    return np.concatenate([frames.mean(1) for frames in _blocks(part, codec)])


def learn_codes(part: Part, codec: Quantiser, seed: int) -> Codebook:
    """The codes of a part of sound."""
    return slow_codes.learn(_mono(part, codec), codec.sample_rate, seed)


def _drawn(config: DataConfig, number: int, copies: int, seed: int) -> tuple[int, float]:
    """The pitch of a copy in steps, and what its samples are multiplied by."""
    place, quiet = uniforms(seed, _STREAM, 2 * number, 2)
    # Spread over the range, so that few copies do not happen to have the same pitch.
    semitones = config.copy_pitch * (2 * (number + place) / copies - 1) ** 5
    decibels = -config.copy_gain * quiet**3
    polarity = -1 if config.copy_polarity and number % 2 == 0 else 1
    return round(_STEPS * 2 ** (semitones / 12)), polarity * 10 ** (decibels / 20)


def _blocks(part: Part, codec: Quantiser) -> Iterator[Frames]:
    for begin in range(0, len(part), _BLOCK):
        yield codec.frames(part.symbols[begin : begin + _BLOCK])
