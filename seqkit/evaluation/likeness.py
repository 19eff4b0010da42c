"""How much a sound is like a recording: four distances, each 0 for the same and 1 for noise.

Bits say how well a model predicts a recording, and little of how it sounds by itself. So what comes
out is compared with the recording, both at 8 kHz, mono, times the factor that brings the
recording's peak to 0.95:

- spectrum: the Fréchet distance of log spectra, as the Fréchet audio distance (Kilgour et al.,
  2019) with the power of 32 bands in the place of a trained network's embedding. Of every frame
  (512 samples under a Hann window, 128 apart) P is the mean power in 32 bands with edges at the
  bins 256 (i / 32)^1.6, at least one bin each, and the frame is the vector 10 log10(P + 1e-7). With
  the means m and covariances C of both sounds' frames the distance is

      |m1 - m2|² + tr(C1 + C2 - 2 (C1 C2)^½)

- tone: how clear the frames' pitches are. Of every frame (512 samples, 160 apart) the highest
  autocorrelation at lags of 2 to 20 ms, divided by that at lag 0 and by the window's own (Boersma,
  1993); 0 for frames 45 dB below the loudest. The distance is the 1-Wasserstein one.
- pitch: which notes it plays. The histogram of the semitones of the frames whose clarity is above
  0.7, and of those without pitch as one bin; the distance is the total variation.
- loudness: the 1-Wasserstein distance of the frames' levels in decibels, from -70 on.

Spectrum, tone and loudness are divided by the distance of noise from the recording: uniform in ±1
for the spectrum, normal and of the recording's power for the others.

Together they hear timbre, clarity, which notes, how often and how loud. What fools them, of which
`benchmarks/fooled.py` has figures: order, so neither rhythm nor melody nor words count (the
recording backwards measures 0, cut into pieces of 0.1 s in a random order 0.2); a second
melody, since of a chord they hear one note; less than a semitone; and whatever lies above 4 kHz,
for which see `full_band`. A short sound measures more than a long one that is as good: compare
sounds of the same length, and see the recording's halves beside them.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from seqkit.data.sound import Wave

RATE = 8000
"""Hertz at which sounds are compared."""
_SIZE, _HOP = 512, 128
SHORTEST = _SIZE + 3 * _HOP
"""Samples at `RATE` of the shortest sound that is compared: four frames of a spectrum."""
BANDS, _WARP = 32, 1.6
_FLOOR = 1e-7
_NOISE_SECONDS = 4
_FRAMES = 4096  # that are computed at a time

_STEP = 160  # between frames whose pitch and level are found
_LAGS = 16, 160  # samples: 500 to 50 Hz
_QUIET = 45  # decibels below its loudest frame at which a frame has no tone
_CLEAR = 0.7  # clarity of a frame that has a pitch
_NEARLY = 0.93  # of the best lag's clarity: the shortest lag that has it is the period
NO_PITCH = -999.0
"""The semitone of a frame without a pitch."""
SHARES = np.linspace(0, 1, 401)
"""At which quantiles are compared."""

_LEAST = 1e-9  # of a unit: silence is not far from silence
Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Frames:
    """What is kept of a sound: the mean (32,) and the covariance (32, 32) of its frames."""

    mean: Matrix
    covariance: Matrix


class Distances(NamedTuple):
    """How far a sound is from a recording; see above, and for the last two `full_band`.

    These are not numbers where the checkpoint of an older seqkit knows nothing of them.
    """

    spectrum: float
    tone: float
    pitch: float
    loudness: float
    band: float = math.nan
    contrast: float = math.nan

    @property
    def known(self) -> dict[str, float]:
        """Those that are numbers, by name."""
        return {k: v for k, v in self._asdict().items() if not math.isnan(v)}


class Heard(NamedTuple):
    """What is kept of a sound's frames.

    spectra: their mean and covariance.
    level, clarity: their quantiles at `SHARES`, (401,).
    notes, shares: the semitones that there are, `NO_PITCH` among them, and their share of the
        frames, (n,).
    """

    spectra: Frames
    level: Matrix
    clarity: Matrix
    notes: Matrix
    shares: Matrix

    @property
    def pitched(self) -> float:
        """The share of the frames that have a pitch."""
        return float(self.shares[self.notes != NO_PITCH].sum())


def noise_from(wave: Wave, heard: Heard) -> Distances:
    """How far noise is from a recording, the unit of each distance."""
    draw = np.random.default_rng(0)
    normal = draw.standard_normal(len(wave)) * wave.std()
    even = draw.uniform(-1, 1, _NOISE_SECONDS * RATE).astype(np.float32)
    apart = distances(hear(normal.astype(np.float32)), heard)
    return apart._replace(spectrum=distance(frames_of(even), heard.spectra), pitch=1.0)


def scaled(apart: Distances, unit: Distances) -> Distances:
    """Distances in units of others."""
    return Distances(*(one / max(most, _LEAST) for one, most in zip(apart, unit, strict=True)))


def distances(one: Heard, other: Heard) -> Distances:
    """How far two sounds are from each other, not scaled."""
    return Distances(
        distance(one.spectra, other.spectra),
        wasserstein(one.clarity, other.clarity),
        _total_variation(one, other),
        wasserstein(one.level, other.level),
    )


def wasserstein(one: Matrix, other: Matrix) -> float:
    """Of two distributions, given their quantiles (401,)."""
    return float(np.abs(one - other).mean())


def _total_variation(one: Heard, other: Heard) -> float:
    known = [dict(zip(heard.notes, heard.shares, strict=True)) for heard in (one, other)]
    apart = [abs(known[0].get(note, 0) - known[1].get(note, 0)) for note in known[0] | known[1]]
    return float(sum(apart) / 2)


def hear(wave: Wave) -> Heard:
    """The frames of a wave (N,) at `RATE`. Raises ValueError for fewer than `SHORTEST` samples."""
    spectra = frames_of(wave)
    blocks = [_periods(frames) for frames in _blocks(wave, _STEP)]
    level, clarity, lag = (np.concatenate(column) for column in zip(*blocks, strict=True))
    clarity = np.where(level > level.max() - _QUIET, clarity, 0.0)
    semitone = np.where(clarity > _CLEAR, np.round(12 * np.log2(RATE / lag / 440)), NO_PITCH)
    notes, counts = np.unique(semitone, return_counts=True)
    levels, clarities = (np.quantile(values, SHARES) for values in (level, clarity))
    return Heard(spectra, levels, clarities, notes, counts / len(semitone))


def _periods(frames: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Level in decibels, clarity and period in samples of frames (n, 512), each (n,)."""
    frames = frames - frames.mean(1, keepdims=True)
    level = 10 * np.log10(np.square(frames).mean(1) + _FLOOR)
    window = np.hanning(_SIZE)
    first, beyond = _LAGS
    of_window = _autocorrelation(window[None])
    correlation = _autocorrelation(frames * window) / of_window * of_window[:, :1]
    correlation = correlation[:, first : beyond + 1] / (correlation[:, :1] + 1e-12)
    inside = correlation[:, :-1]
    clarity = inside.max(1).clip(0, 1)
    # The shortest lag that is nearly as good, so that no octave below is taken; from it uphill.
    near = (inside > _NEARLY * clarity[:, None]).argmax(1)
    places = np.arange(beyond - first)
    downhill = np.diff(correlation, axis=1) <= 0
    downhill[:, -1] = True
    lag = (downhill & (places >= near[:, None])).argmax(1)
    return level, clarity, (first + lag).astype(np.float64)


def _autocorrelation(frames: Matrix) -> Matrix:
    """Of frames (n, 512), at lags of 0 to 160 samples (n, 161)."""
    power = np.square(np.abs(np.fft.rfft(frames, 2 * _SIZE, axis=1)))
    correlation: Matrix = np.fft.irfft(power, axis=1)[:, : _LAGS[1] + 1]
    return correlation


def _blocks(wave: Wave, step: int) -> Iterator[Matrix]:
    """Frames (n, 512) of a wave, so many samples apart, some at a time."""
    windows = np.lib.stride_tricks.sliding_window_view(wave, _SIZE)[::step]
    for begin in range(0, len(windows), _FRAMES):
        yield windows[begin : begin + _FRAMES].astype(np.float64)


def frames_of(wave: Wave) -> Frames:
    """The frames of a wave (N,) at `RATE`. Raises ValueError for fewer than `SHORTEST` samples."""
    if len(wave) < SHORTEST:
        raise ValueError(f"a sound of at least {SHORTEST / RATE:g} s is needed")
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_SIZE) / _SIZE)
    edges = _edges()
    blocks = []
    for frames in _blocks(wave, _HOP):
        spectrum = np.fft.rfft(frames * hann)[:, : edges[-1]]
        power = np.add.reduceat(np.square(np.abs(spectrum)), edges[:-1], axis=1)
        blocks.append(10 * np.log10(power / np.diff(edges) + _FLOOR))
    powers = np.concatenate(blocks)
    return Frames(powers.mean(0), np.cov(powers, rowvar=False))


def distance(one: Frames, other: Frames) -> float:
    """The squared Fréchet distance of two normal distributions (Dowson and Landau, 1982)."""
    apart = np.square(one.mean - other.mean).sum()
    spread = np.trace(one.covariance) + np.trace(other.covariance)
    values = np.linalg.eigvals(one.covariance @ other.covariance).astype(complex)
    return max(float(apart + spread - 2 * np.sqrt(values).real.sum()), 0.0)


def _edges() -> npt.NDArray[np.int64]:
    """Where the bands begin among the bins of a spectrum, and where the last one ends, (33,)."""
    edges = np.round(_SIZE // 2 * (np.arange(BANDS + 1) / BANDS) ** _WARP).astype(np.int64)
    for band in range(1, BANDS + 1):
        edges[band] = max(edges[band], edges[band - 1] + 1)
    return edges
