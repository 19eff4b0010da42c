"""Whether a run's last sample of sound is silence or noise, though its data are neither."""

from pathlib import Path
from typing import Literal

import numpy as np

from seqkit.data.bad_files import BadFileError
from seqkit.data.sound import Wave
from seqkit.data.sound.reader import beginning
from seqkit.runs.record import Record

Fault = Literal["silence", "noise"]

_LONGEST = 10.0  # seconds that are looked at
_SILENT = 1 / 500  # of full scale; the bound of `generation.sound_faults`
_FLAT = 0.25  # of a spectrum that is noise; white noise is at 1, speech below 0.1
_FLATTER = 3.0  # times as flat as that of the data
_WINDOW = 512  # samples


def fault(record: Record) -> Fault | None:
    """What is wrong with the last sample; None of text, and where nothing can be read."""
    last = record.final or (record.samples[-1][1] if record.samples else None)
    wave, own = _read(last), _read(record.data)
    if wave is None or own is None:
        return None
    if np.ptp(wave) / 2 < _SILENT <= np.ptp(own) / 2:
        return "silence"
    flatness = _flatness(wave)
    return "noise" if flatness > _FLAT and flatness > _FLATTER * _flatness(own) else None


def _read(file: Path | None) -> Wave | None:
    """The beginning of a WAV; None if there is none, or it cannot be read."""
    if file is None or file.suffix != ".wav":
        return None
    try:
        return beginning(file, _LONGEST)[0]
    except BadFileError:
        return None


def _flatness(wave: Wave) -> float:
    """The geometric mean of the mean power spectrum over its arithmetic one: 1 for white noise."""
    count = len(wave) // _WINDOW
    if not count:
        return 0.0
    frames = wave[: count * _WINDOW].reshape(count, _WINDOW) * np.hanning(_WINDOW)
    power = (np.abs(np.fft.rfft(frames, axis=1)) ** 2).mean(0)[1:] + 1e-12
    return float(np.exp(np.log(power).mean()) / power.mean())
