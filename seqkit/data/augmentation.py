"""The sound that is learnt from: without silence, and with copies that are changed a little.

All silence goes at the start of a document, and what exceeds 0.3 s in a pause. A network cannot
count the samples of a silence. It learns that silence follows silence, and once its own output is
silent, as it is at the start, it stays so. What is not learnt is not asked for either: a validation
part that ends in silence would choose the weights that know silence best.

Copies teach a network to bear its own errors. What it has to predict in them is the recording, but
what it reads of it is a little wrong, as its own output will be: samples have noise, codes are
those of frames that are a little off, and of one piece in ten no code is told. A copy is cut into
pieces of 0.05 to 0.4 s. Each begins in mid-note; silence is heard at the beginning of half of them,
and in the middle of half of them, so that a network that fell silent knows how to go on. What is
drawn depends on the seed only.
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
from seqkit.data.sound.slow_codes import Codebook
from seqkit.foundation import machine
from seqkit.symbols import Symbols

_FRAME = 0.02  # seconds over which loudness is taken
_PAUSE = 0.3  # seconds of a pause that are kept
_LISTENED = 1 << 12  # frames at a time
_ENOUGH = 1200  # seconds of sound that the copies together have by themselves
_MOST = 64  # copies that are made by themselves
_NOISES = (0.0, 0.25, 0.5, 1.0)  # of data.copy_noise, a quarter of the pieces each
_SILENCE = 0.016  # seconds at most for which silence is heard in the place of a note
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
    book: Codebook | None = None,
) -> Part:
    """The part, and so many copies of it behind it, see above; with a codebook all of it is told.

    Raises:
        DeviceError: the memory does not suffice.
    """
    machine.require(
        3 * (copies + 1) * len(part) * part.symbols.itemsize,
        machine.free_bytes(machine.HOST),
        f"data.copies={copies}",
        str,
    )
    symbols, size = part.symbols[:], len(part)
    frame, rate, stereo = part.frame, codec.symbol_rate, codec.channels
    levels = config.copy_noise * codec.levels / 256
    if frame != stereo:  # of two symbols a sample, a wrong one is far off
        levels = 0.0
    draw = np.random.default_rng([seed, _STREAM])
    described = None if book is None else book.describe(_mono(part, codec))

    def row_of(wrong: float) -> Symbols:
        """The code of each symbol, of frames that are so many deviations wrong."""
        assert book is not None
        assert described is not None
        moved = described + np.float32(wrong) * draw.standard_normal(described.shape, np.float32)
        return np.repeat(book.codes(moved), book.hop * codec.phases)[:size]

    heard, starts = [symbols], [part.starts]
    rows = [] if book is None else [row_of(0)]
    for number in range(copies):
        cuts = np.cumsum(draw.integers(rate // 20, rate * 2 // 5 + 1, 20 * size // rate + 2))
        cuts = cuts // frame * frame
        begins = np.unique(np.concatenate([part.starts, cuts[(cuts > 0) & (cuts < size)]]))
        ends = np.append(begins[1:], size)
        lengths, count = ends - begins, len(begins)
        sizes = draw.choice(_NOISES, count) * levels
        noise = draw.standard_normal(size) * np.repeat(sizes, lengths)
        read = np.clip(np.round(symbols + noise), 0, codec.size - 1).astype(symbols.dtype)
        middles = begins + (draw.random(count) * lengths).astype(np.int64) // frame * frame
        for places in (begins, middles):  # half of each
            silent = draw.integers(1, round(_SILENCE * rate) + 1, count) // frame * frame
            silent *= draw.random(count) < 0.5
            for begin, end in zip(places, np.minimum(places + silent, ends), strict=True):
                read[begin:end] = np.resize(codec.silent_frame, end - begin)
        heard.append(read)
        starts.append(begins + (number + 1) * size)
        if book is not None:
            row = row_of(_WRONG)
            row[np.repeat(draw.random(count) < _UNTOLD, lengths)] = 0
            rows.append(row)
    return Part(
        np.tile(symbols, copies + 1),
        np.concatenate(starts),
        frame=frame,
        heard=np.concatenate(heard) if copies else None,
        conditions=np.concatenate(rows) if rows else None,
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


def _blocks(part: Part, codec: Quantiser) -> Iterator[Frames]:
    for begin in range(0, len(part), _BLOCK):
        yield codec.frames(part.symbols[begin : begin + _BLOCK])
