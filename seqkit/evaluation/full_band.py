"""What ears hear beyond 8 kHz sampling: two distances at 32 kHz, beside those of `likeness`.

As those of `likeness`, each is 0 for the same sound, and 1 for even noise of the recording's power.
Sounds are mono, times the factor that brings the recording's peak at 32 kHz to 0.95. Of every frame
(2048 samples under a Hann window, 512 apart, the first one centred on the first sample, the sound
being mirrored at its ends) P is the squared magnitude of the spectrum over 512², so that a sine at
full scale has P = 1:

- band: the Fréchet distance, as that of `likeness`, of the vectors 10 log10(P + 10^-8.5), P being
  the mean of each of 38 bands from 47 Hz to 16 kHz: their edges are the bins 3 (1024 / 3)^(i / 40),
  rounded, of equal ones one.
- contrast: how far the partials stand above what lies between them. Of every frame that is at most
  45 dB below the loudest, the 95th less the 25th percentile of 10 log10(P + 1e-9) among the bins 6
  to 223, 94 Hz to 3.5 kHz. The distance is the 1-Wasserstein one. Hiss lowers the contrast.

What fools them (`benchmarks/fooled.py` has figures): hiss 40 dB below the sound, on most recordings
30 dB; noise of the same power in place of all above 4 kHz, where contrast does not listen; another
order, as with `likeness`; a low-pass, if the recording has little there; clipping, on most.

A sound of a lower rate lacks what it cannot hold, and is far in band from a recording that has it:
a model that learnt at 8 kHz is compared with its recording at 8 kHz, see `stages.recording`.
"""

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from seqkit.data.sound import Wave, hann
from seqkit.data.sound.resample import resample
from seqkit.evaluation import likeness
from seqkit.evaluation.likeness import (
    SHARES,
    Distances,
    Frames,
    Heard,
    Matrix,
    distance,
    wasserstein,
)
from seqkit.symbols import Floats

RATE = 32000
"""Hertz at which sounds are compared."""
_SIZE, _HOP = 2048, 512
_LOWEST, _STEPS = 3, 40  # the first bin of a band, and the steps in which bands grow to the last
_FLOOR = 10**-8.5
_PARTIALS = slice(6, 224)  # bins
_HIGH, _LOW = 0.95, 0.25  # shares of these bins below a partial, and below what lies between
_NOTHING = 1e-9
_QUIET = 45  # decibels below its loudest frame at which a frame has no contrast
_NOISE_SECONDS = 4
_LEAST_CONTRAST = 1e-3  # decibels that noise is away: silence is not far from silence
_FRAMES = 2048  # that are computed at a time
_MOST_PIECES = 40
_HIGHS = 2000  # hertz from which on a band is high


@dataclass(frozen=True)
class FullBand:
    """What is kept of a sound's frames.

    bands: mean (38,) and covariance (38, 38) of their levels, in decibels.
    contrast: the quantiles of their contrasts at `SHARES`, (401,), in decibels.
    """

    bands: Frames
    contrast: Matrix

    @property
    def highs(self) -> float:
        """The mean level of the bands from 2 kHz on, in decibels."""
        return float(self.bands.mean[_edges()[:-1] * RATE >= _HIGHS * _SIZE].mean())

    @property
    def median_contrast(self) -> float:
        """In decibels."""
        return float(np.median(self.contrast))


def hear(wave: Wave) -> FullBand:
    """The frames of a wave (N,) at `RATE`, of more than 1024 samples."""
    edges, rows = _edges(), []
    for power in _powers(wave):
        means = [power[:, a:b].mean(1) for a, b in itertools.pairwise(edges)]
        partials = 10 * np.log10(power[:, _PARTIALS] + _NOTHING)
        contrast = np.subtract(*np.quantile(partials, (_HIGH, _LOW), 1))
        level = 10 * np.log10(power.sum(1) + _NOTHING)
        rows.append([*10 * np.log10(np.stack(means) + _FLOOR), contrast, level])
    table = np.concatenate(rows, 1).astype(np.float64)  # (40, frames)
    bands, contrast, level = table[:-2], table[-2], table[-1]
    heard = np.quantile(contrast[level > level.max() - _QUIET], SHARES)
    return FullBand(Frames(bands.mean(1), np.cov(bands)), heard)


def _apart(one: FullBand, other: FullBand) -> tuple[float, float]:
    """Band and contrast, not scaled."""
    return distance(one.bands, other.bands), wasserstein(one.contrast, other.contrast)


def _noise(wave: Wave, heard: FullBand) -> tuple[float, float]:
    """How far noise is from a recording, the unit of each distance."""
    even = np.random.default_rng(0).uniform(-1, 1, _NOISE_SECONDS * RATE).astype(np.float32)
    band, contrast = _apart(hear(even * np.sqrt(3 * np.square(wave).mean())), heard)
    return band, max(contrast, _LEAST_CONTRAST)


def _powers(wave: Wave) -> Iterator[Floats]:
    """P (n, 1025) of the frames of a wave, some at a time."""
    windows = sliding_window_view(np.pad(wave, _SIZE // 2, mode="reflect"), _SIZE)[::_HOP]
    for begin in range(0, len(windows), _FRAMES):
        spectrum = np.fft.rfft(windows[begin : begin + _FRAMES] * hann(_SIZE))
        yield np.square(np.abs(spectrum)) / np.float32(_HOP**2)


def _edges() -> npt.NDArray[np.int64]:
    """Where the bands begin among the bins of a spectrum, and where the last one ends, (39,)."""
    steps = np.geomspace(_LOWEST, _SIZE // 2, _STEPS + 1)
    return np.unique(np.round(steps).astype(np.int64))


class Hearing(NamedTuple):
    """The frames of a sound at both rates; those at 32 kHz may be unknown."""

    low: Heard
    full: FullBand | None


class Sound(NamedTuple):
    """A sound (N,) at both rates."""

    low: Wave
    full: Wave

    @classmethod
    def of(cls, wave: Wave, sample_rate: int) -> "Sound":
        """A wave (N,) at a rate in hertz."""
        return cls(*(resample(wave, sample_rate, rate) for rate in (likeness.RATE, RATE)))

    def times(self, factor: float, full_factor: float) -> "Sound":
        """Louder, or less loud."""
        return Sound(self.low * np.float32(factor), self.full * np.float32(full_factor))

    def hear(self) -> Hearing:
        """Its frames. Raises ValueError for fewer than `likeness.SHORTEST` samples."""
        return Hearing(likeness.hear(self.low), hear(self.full))

    def pieces(self, seconds: float, count: int | None = None) -> "list[Sound]":
        """See `pieces_of`."""
        low = pieces_of(self.low, round(seconds * likeness.RATE), count)
        return [*map(Sound, low, pieces_of(self.full, round(seconds * RATE), len(low)))]


def distances(one: Hearing, other: Hearing) -> Distances:
    """How far two sounds are from each other, not scaled."""
    found = likeness.distances(one.low, other.low)
    if one.full is None or other.full is None:
        return found
    band, contrast = _apart(one.full, other.full)
    return found._replace(band=band, contrast=contrast)


def noise_from(sound: Sound, heard: Hearing) -> Distances:
    """How far noise is from a recording, the unit of each distance."""
    assert heard.full is not None
    band, contrast = _noise(sound.full, heard.full)
    return likeness.noise_from(sound.low, heard.low)._replace(band=band, contrast=contrast)


def pieces_of(wave: Wave, size: int, count: int | None = None) -> list[Wave]:
    """Pieces of so many samples, at equal distances from the first to the last.

    By default they are half of one apart, but there are at most 40.
    """
    count = count or min(_MOST_PIECES, 2 * len(wave) // size - 1)
    begins = np.linspace(0, len(wave) - size, count).astype(int).tolist()
    return [wave[begin : begin + size] for begin in begins]
