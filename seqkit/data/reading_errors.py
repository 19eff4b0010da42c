"""The errors with which a training reads sound on purpose.

A network that makes sound reads what it made itself. So it learns to bear errors (`Errors`): what
it has to predict is the recording, but the samples that it reads have noise, and it may read
silence where a lane begins, as it does when it makes sound from nothing.
"""

from dataclasses import dataclass, field

import numpy as np

from seqkit.config import DataConfig
from seqkit.data.codecs import SoundCodec
from seqkit.symbols import Integers

_STRETCH = 0.25  # seconds for which a lane reads errors, or none
_SILENCE = 0.016  # seconds at most for which silence is read where a lane begins


@dataclass(frozen=True)
class Errors:
    """How symbols (V of them) are read wrong in training.

    share: of the time at which anything is.
    steps: windows for which one draw holds.
    noise: its deviation in symbols; what is read stays below `symbols`, which is V.
    readings (R, V): what each symbol is read as, one row of which is drawn; or None.
    silence (P,): a frame of silence, which is read for up to `silent_steps` steps; or empty.
    """

    share: float
    steps: int
    noise: float = 0.0
    symbols: int = 0
    readings: Integers | None = None
    silence: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    silent_steps: int = 0


NO_ERRORS = Errors(share=0.0, steps=8)


def errors_of(codec: SoundCodec, config: DataConfig, steps: int) -> Errors | None:
    """The errors that `data.copies` asks for, in windows of so many steps; None without any."""
    if not config.copies:
        return None
    return Errors(
        share=config.copies / (config.copies + 1),
        steps=max(1, round(_STRETCH * codec.symbol_rate / steps)),
        noise=config.copy_noise * codec.size / 256,
        symbols=codec.size,
        silence=np.array([codec.start]),
        silent_steps=round(_SILENCE * codec.symbol_rate),
    )
