"""The errors with which a training reads sound on purpose.

A network that makes sound reads what it made itself. So it learns to bear errors (`Errors`): what
it has to predict is the recording, but what it reads is a little wrong. Samples have noise, or are
quieter than they were; codes are those of frames that are a little off, or are not read at all; and
now and then silence is read in the place of a note, so that a network that fell silent knows how to
go on.
"""

from dataclasses import dataclass, field

import numpy as np

from seqkit.config import DataConfig
from seqkit.data.codecs import Quantiser
from seqkit.data.sound.slow_codes import Codebook
from seqkit.symbols import Integers

NOISES = (0.0, 0.25, 0.5, 1.0)
"""Of data.copy_noise, a quarter of the time each."""
_HELD = 0.25  # seconds for which errors of one kind go on
_SILENCE = 0.016  # seconds at most for which silence is read in the place of a note
_FAINTER = 0.25  # share of the time at which sound is read quieter than it was
_FAINT = np.geomspace(0.05, 0.8, 8)  # how much quieter
_WRONG, _MISTAKES = 0.3, 64  # deviations by which a frame is wrong, and tables of what follows
_UNCODED = 0.1  # share of the time at which no code is read
_STREAM = (1 << 32) + 1  # of draws; no sample has it, nor have the lanes


@dataclass(frozen=True)
class Errors:
    """How symbols (V of them) and conditions are read wrong in training.

    share: of the time at which anything is.
    steps: windows for which one draw holds.
    readings (R, V): what each symbol is read as; first as itself, then in ways of which one is
        drawn for the share `replaced` of the time.
    noise: deviations of the noise in symbols, of which one is drawn.
    silence (P,): a frame of silence, which is read for up to `silent_steps` steps; or empty.
    codes (A, C): what each code is mistaken for, one row of which is drawn; or None. The share
        `uncoded` of the time it is 0.
    """

    share: float
    steps: int
    readings: Integers
    replaced: float
    noise: tuple[float, ...] = (0.0,)
    silence: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    silent_steps: int = 0
    codes: Integers | None = None
    uncoded: float = 0.0


NO_ERRORS = Errors(share=0.0, steps=8, readings=np.zeros((1, 1), np.int64), replaced=0.0)


def errors_of(
    codec: Quantiser, config: DataConfig, steps: int, seed: int, book: Codebook | None = None
) -> Errors | None:
    """The errors that `data.copies` asks for, in windows of so many steps; None without any."""
    if not config.copies:
        return None
    symbols, noise = np.arange(codec.size), np.zeros(1)
    readings = [symbols]
    if codec.symbols_per_sample == 1:  # of two symbols a sample, a wrong one is far off
        noise = config.copy_noise * codec.levels / 256 * np.array(NOISES)
        values = codec.values_of(np.repeat(symbols, codec.columns))
        fainter = [codec.quantised(np.float32(factor) * values) for factor in _FAINT]
        readings += [faint[:: codec.columns].astype(np.int64) for faint in fainter]
    codes = None
    if book is not None:
        draw = np.random.default_rng([seed, _STREAM])
        off = draw.standard_normal((_MISTAKES, *book.centres.shape), np.float32)
        rows = [book.codes(book.centres + np.float32(_WRONG) * offset) for offset in off]
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
        uncoded=_UNCODED,
    )
