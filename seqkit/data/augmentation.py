"""The sound that is learnt from: without silence, told by codes, and read with errors.

All silence goes at the start of a document, and what exceeds 0.3 s in a pause. A network cannot
count the samples of a silence. It learns that silence follows silence, and once its own output is
silent, as it is at the start, it stays so. What is not learnt is not asked for either: a validation
part that ends in silence would choose the weights that know silence best.

A network that makes sound reads what it made itself. So it learns to bear errors (`Errors`): what
it has to predict is the recording, but what it reads is a little wrong. Samples have noise, or are
quieter than they were; codes are those of frames that are a little off, or are not told at all; and
now and then silence is read in the place of a note, so that a network that fell silent knows how to
go on.
"""

import dataclasses
import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from seqkit.config import DataConfig
from seqkit.data.codecs import Quantiser
from seqkit.data.corpus import Part
from seqkit.data.sound import Frames, Wave, pitch, prediction, slow_codes
from seqkit.data.sound.slow_codes import Codebook
from seqkit.symbols import Floats, Integers

_FRAME = 0.02  # seconds over which loudness is taken
_PAUSE = 0.3  # seconds of a pause that are kept
_LISTENED = 1 << 12  # frames at a time
_NOISES = (0.0, 0.25, 0.5, 1.0)  # of data.copy_noise, a quarter of the time each
_HELD = 0.25  # seconds for which errors of one kind go on
_SILENCE = 0.016  # seconds at most for which silence is read in the place of a note
_FAINTER = 0.25  # share of the time at which sound is read quieter than it was
_FAINT = np.geomspace(0.05, 0.8, 8)  # how much quieter
_WRONG, _MISTAKES = 0.3, 64  # deviations by which a frame is wrong, and tables of what follows
_UNTOLD = 0.1  # share of the time at which no code is told
_STREAM = (1 << 32) + 1  # of draws; no sample has it, nor have the lanes
_PREDICTED = 300  # seconds that a linear prediction is learnt from
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
    kept = (moved < len(symbols)) & np.append(moved[1:] > moved[:-1], True)
    return Part(
        symbols,
        moved[kept].astype(np.int64),
        frame=part.frame,
        labels=None if part.labels is None else part.labels[kept],
        label_numbers=part.label_numbers,
    )


def _levels(part: Part, codec: Quantiser, size: int) -> npt.NDArray[np.float64]:
    """The mean power (frames,) of frames of so many symbols; the last one may be shorter."""
    found, samples = [], size // codec.phases
    for begin in range(0, len(part), _LISTENED * size):
        heard = codec.frames(part.symbols[begin : begin + _LISTENED * size])
        power = np.square(heard, dtype=np.float64).mean(1)
        starts = np.arange(0, len(power), samples)
        found.append(np.add.reduceat(power, starts) / samples)
    return np.concatenate(found)


@dataclass(frozen=True)
class Errors:
    """How symbols (V of them) and conditions are read wrong in training.

    share: of the time at which anything is.
    steps: windows for which one draw holds.
    readings (R, V): what each symbol is read as; first as itself, then in ways of which one is
        drawn for the share `replaced` of the time.
    noise: deviations of the noise in symbols, of which one is drawn.
    silence (P,): a frame of silence, which is read for up to `silent_steps` steps; or empty.
    codes (A, K): what each code is mistaken for, one row of which is drawn; or None. The share
        `untold` of the time it is 0.
    label_numbers: how many numbers labels have. A tenth of the time none is told.
    """

    share: float
    steps: int
    readings: Integers
    replaced: float
    noise: tuple[float, ...] = (0.0,)
    silence: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    silent_steps: int = 0
    codes: Integers | None = None
    untold: float = 0.0
    label_numbers: int = 1


NO_ERRORS = Errors(share=0.0, steps=8, readings=np.zeros((1, 1), np.int64), replaced=0.0)


def errors_of(
    codec: Quantiser, config: DataConfig, steps: int, seed: int, book: Codebook | None = None
) -> Errors | None:
    """The errors that `data.copies` asks for, in windows of so many steps; None without any."""
    if not config.copies:
        return None
    own, noise = np.arange(codec.size), np.zeros(1)
    readings = [own]
    if codec.symbols_per_sample == 1:  # of two symbols a sample, a wrong one is far off
        noise = config.copy_noise * codec.levels / 256 * np.array(_NOISES)
        wave = codec.decode(np.repeat(own, codec.channels))
        fainter = [codec.encode(np.float32(factor) * wave) for factor in _FAINT]
        readings += [one[:: codec.channels].astype(np.int64) for one in fainter]
    codes = None
    if book is not None:
        draw = np.random.default_rng([seed, _STREAM])
        off = draw.standard_normal((_MISTAKES, *book.centres.shape), np.float32)
        rows = [book.codes(book.centres + np.float32(_WRONG) * one) for one in off]
        codes = np.pad(np.array(rows, np.int64), ((0, 0), (1, 0)))
    return Errors(
        share=config.copies / (config.copies + 1),
        steps=max(1, round(_HELD * codec.symbol_rate / steps)),
        readings=np.array(readings),
        replaced=_FAINTER if len(readings) > 1 else 0.0,
        noise=tuple(noise.tolist()),
        silence=codec.silent_frame.astype(np.int64),
        silent_steps=round(_SILENCE * codec.symbol_rate),
        codes=codes,
        untold=_UNTOLD,
    )


def told(part: Part, codec: Quantiser, book: Codebook) -> Part:
    """The part with its codes."""
    row = book.codes(book.describe(_mono(part, codec)))
    conditions = np.repeat(row, book.hop * codec.phases)[: len(part)]
    return dataclasses.replace(part, conditions=conditions)


def _mono(part: Part, codec: Quantiser) -> Wave:
    """The mean of its channels, (N,)."""
    return np.concatenate([frames.mean(1) for frames in _blocks(part, codec)])


def learn_prediction(
    part: Part, codec: Quantiser, config: DataConfig, count: int, book: Codebook | None
) -> tuple[Wave, Floats]:
    """The samples of all symbols (V,), and weights (C, K) of a linear prediction of a part.

    They suit a past that has the noise that `data.copy_noise` names, on average. C is the size of
    the codebook with whose codes the part is told; without one it is 1.
    """
    levels = codec.decode(np.repeat(np.arange(codec.size), codec.channels))
    symbols = part.symbols[: _PREDICTED * codec.symbol_rate]
    wave, step = levels[symbols], np.gradient(levels)[symbols]
    noise = np.mean(np.square(_NOISES)) * np.square(config.copy_noise * codec.levels / 256 * step)
    size, hop = 1, round(codec.sample_rate / slow_codes.FRAMES) * codec.phases
    if book is not None:
        size, hop = book.size, book.hop * codec.phases
    known = part.conditions
    codes = np.zeros(len(wave), np.uint8) if known is None else known[: len(wave)]
    return levels, prediction.learn(wave, noise, codes[::hop], hop, size, count)


def learn_codes(part: Part, codec: Quantiser, seed: int, kind: str = "codes") -> Codebook:
    """The codes of a part of sound, of the kind that `data.conditions` names."""
    if kind == pitch.PitchBook.kind:
        return pitch.learn(_mono(part, codec), codec.sample_rate)
    return slow_codes.learn(_mono(part, codec), codec.sample_rate, seed)


def _blocks(part: Part, codec: Quantiser) -> Iterator[Frames]:
    for begin in range(0, len(part), _BLOCK):
        yield codec.frames(part.symbols[begin : begin + _BLOCK])
