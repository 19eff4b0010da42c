"""What of a sound is compared: statistics of its frames, at 8 kHz and at 32 kHz, mono.

At 8 kHz frames have 512 samples:

- spectra: under a Hann window, 128 apart, P is the mean power in 32 bands with edges at the bins
  256 (i / 32)^1.6, at least one bin each, and a frame is the vector 10 log10(P + 1e-7).
- level, clarity, notes: 160 apart. Clarity is the highest autocorrelation at lags of 2 to 20 ms,
  divided by that at lag 0 and by the window's own (Boersma, 1993); 0 for frames 45 dB below the
  loudest. A frame whose clarity is above 0.7 has a note, the semitone of that lag.

At 32 kHz frames have 2048 samples under a Hann window, the first one centred on the first sample,
the sound being mirrored at its ends. P is the squared magnitude of the spectrum over 512², so that
a sine at full scale has P = 1:

- bands: 512 apart, the vectors 10 log10(P + 10^-8.5), P being the mean of each of 38 bands from
  47 Hz to 16 kHz: their edges are the bins 3 (1024 / 3)^(i / 40), rounded, of equal ones one.
- contrast: of every one of these frames that is at most 45 dB below the loudest, the 95th less the
  25th percentile of 10 log10(P + 1e-9) among the bins 6 to 223, 94 Hz to 3.5 kHz. It says how far
  partials stand above what lies between them.
- mel: 320 apart (10 ms), the decibels of the mean P of 32 mel bands, above a floor that is 60 dB
  below the recording's loudest band. From them come
  - flux: the mean of the bands' changes from a frame to the next, up or down, as log2; of frames
    at most 45 dB below the loudest
  - pulse: the peak of the autocorrelation of onsets, which are the mean of what rises, at lags of
    0.2 to 1.5 s: its mean over pieces of up to ten seconds
  - moments: means of P over five frames (50 ms) from each on, again in decibels above the floor
"""

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from seqkit.data.sound import Wave, centred, hann, resample
from seqkit.symbols import Floats, Integers

LOW, FULL = 8000, 32000
"""Hertz at which sounds are compared."""
_SIZE, _HOP = 512, 128
SHORTEST = _SIZE + 3 * _HOP
"""Samples at `LOW` of the shortest sound that is compared: four frames of a spectrum."""
SPECTRUM_BANDS, _WARP = 32, 1.6
_FLOOR = 1e-7
_STEP = 160  # between frames whose pitch and level are found
_LAGS = 16, 160  # samples: 500 to 50 Hz
_CLEAR = 0.7  # clarity of a frame that has a pitch
_NEARLY = 0.93  # of the best lag's clarity: the shortest lag that has it is the period
NO_PITCH = -999.0
"""The semitone of a frame without a pitch."""
NOTES = _LAGS[1] - _LAGS[0] + 1
"""The most notes that there can be, none being one."""

_FULL_SIZE, _FULL_HOP, _MEL_HOP = 2048, 512, 320
FULL_BANDS = 38
_LOWEST, _STEPS = 3, 40  # the first bin of a band, and the steps in which bands grow to the last
_FULL_FLOOR = 10**-8.5
_PARTIALS = slice(6, 224)  # bins
_HIGH, _LOW = 0.95, 0.25  # shares of these bins below a partial, and below what lies between
_NOTHING, _NONE = 1e-9, 1e-18
_HIGHS = 2000  # hertz from which on a band is high
MEL_BANDS, _MEL = 32, 700.0  # and the hertz below which they are about as wide as each other
RANGE = 60.0
"""Decibels of a mel band from its floor to the loudest."""
MOMENT, MOMENTS = 5, FULL // _MEL_HOP
"""Frames of mel bands in a moment, and moments that begin in a second."""
_LEAST_FLUX = 0.1  # decibels that count as no change
_BEATS = 20, 150  # frames: 0.2 to 1.5 s
_PHRASE = 1000  # frames of a piece in which a pulse is looked for

_QUIET = 45  # decibels below its loudest frame at which a frame has neither tone nor contrast
_AT_ONCE = 2048  # frames
SHARES = np.linspace(0, 1, 401)
"""At which quantiles are compared."""
Matrix = npt.NDArray[np.float64]
Levels = npt.NDArray[np.float32]
"""Frames or moments (n, 32) of mel bands, in decibels above the floor, 0 to `RANGE`."""


class Normal(NamedTuple):
    """The mean (n,) and the covariance (n, n) of frames."""

    mean: Matrix
    covariance: Matrix


class Heard(NamedTuple):
    """The statistics of a sound; see above.

    spectra, bands: of 32 and of 38 values.
    level, clarity, contrast, flux: their quantiles at `SHARES`, (401,).
    notes, shares: the semitones that there are, `NO_PITCH` among them, and their share of the
        frames, (n,).
    moments: all of them, in their order.
    floor: of the mel bands, in decibels.
    """

    spectra: Normal
    level: Matrix
    clarity: Matrix
    notes: Matrix
    shares: Matrix
    bands: Normal
    contrast: Matrix
    flux: Matrix
    pulse: float
    moments: Levels
    floor: float

    @property
    def pitched(self) -> float:
        """The share of the frames that have a pitch."""
        return float(self.shares[self.notes != NO_PITCH].sum())

    @property
    def highs(self) -> float:
        """The mean level of the bands from 2 kHz on, in decibels."""
        return float(self.bands.mean[_band_edges()[:-1] * FULL >= _HIGHS * _FULL_SIZE].mean())


class Sound(NamedTuple):
    """A sound (N,) at both rates."""

    low: Wave
    full: Wave

    @classmethod
    def of(cls, wave: Wave, sample_rate: int) -> "Sound":
        """A wave (N,) at a rate in hertz; its mean is not heard."""
        heard = centred(wave)
        return cls(*(resample(heard, sample_rate, rate) for rate in (LOW, FULL)))

    def times(self, factor: float, full_factor: float) -> "Sound":
        """Louder, or less loud."""
        return Sound(self.low * np.float32(factor), self.full * np.float32(full_factor))

    def pieces(self, seconds: float, count: int) -> "list[Sound]":
        """So many pieces of so many seconds, at equal distances from the first to the last."""
        waves = []
        for wave, rate in zip(self, (LOW, FULL), strict=True):
            size = round(seconds * rate)
            begins = np.linspace(0, len(wave) - size, count).astype(int)
            waves.append([wave[begin : begin + size] for begin in begins])
        return [*map(Sound, *waves)]

    def hear(self, floor: float | None = None) -> Heard:
        """Its statistics; of a sound that is compared, above the recording's floor.

        Raises ValueError for fewer than `SHORTEST` samples.
        """
        if len(self.low) < SHORTEST:
            raise ValueError(f"a sound of at least {SHORTEST / LOW:g} s is needed")
        blocks = [_periods(frames) for frames in _blocks(self.low, _SIZE, _STEP)]
        level, clarity, lag = (np.concatenate(column) for column in zip(*blocks, strict=True))
        clarity = np.where(level > level.max() - _QUIET, clarity, 0.0)
        semitone = np.where(clarity > _CLEAR, np.round(12 * np.log2(LOW / lag / 440)), NO_PITCH)
        notes, counts = np.unique(semitone, return_counts=True)
        bands, contrast = _partials(self.full)
        edges = _mel_edges()
        mel = np.concatenate([_means(power, edges) for power in _powers(self.full, _MEL_HOP)])
        floor = _decibels(mel).max() - RANGE if floor is None else floor
        levels = (_decibels(mel) - floor).clip(0)
        around = sliding_window_view(mel, MOMENT, 0).mean(-1)
        return Heard(
            spectra=_spectra(self.low),
            level=np.quantile(level, SHARES),
            clarity=np.quantile(clarity, SHARES),
            notes=notes,
            shares=counts / len(semitone),
            bands=bands,
            contrast=contrast,
            flux=_flux(levels, mel.sum(1)),
            pulse=_pulse(levels),
            moments=(_decibels(around) - floor).clip(0, RANGE),
            floor=float(floor),
        )


def _spectra(wave: Wave) -> Normal:
    edges, window = _spectrum_edges(), hann(_SIZE).astype(np.float64)
    spectra = (np.fft.rfft(frames * window) for frames in _blocks(wave, _SIZE, _HOP))
    powers = [_means(np.square(np.abs(spectrum)), edges) for spectrum in spectra]
    levels = 10 * np.log10(np.concatenate(powers) + _FLOOR)
    return Normal(levels.mean(0), np.cov(levels, rowvar=False))


def _periods(frames: Wave) -> tuple[Matrix, Matrix, Matrix]:
    """Level in decibels, clarity and period in samples of frames (n, 512), each (n,)."""
    centred = frames.astype(np.float64)
    centred -= centred.mean(1, keepdims=True)
    level = 10 * np.log10(np.square(centred).mean(1) + _FLOOR)
    window = np.hanning(_SIZE)
    first, beyond = _LAGS
    of_window = _autocorrelation(window[None], beyond)
    correlation = _autocorrelation(centred * window, beyond) / of_window * of_window[:, :1]
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


def _autocorrelation(rows: Matrix, most: int) -> Matrix:
    """Of rows (n, N), at lags of 0 to `most`."""
    power = np.square(np.abs(np.fft.rfft(rows, 2 * rows.shape[1], axis=1)))
    return np.asarray(np.fft.irfft(power, axis=1)[:, : most + 1])


def _partials(wave: Wave) -> tuple[Normal, Matrix]:
    """Of a wave at 32 kHz: the bands, and the quantiles of the contrast."""
    edges, rows = _band_edges(), []
    for power in _powers(wave, _FULL_HOP):
        partials = 10 * np.log10(power[:, _PARTIALS] + _NOTHING)
        contrast = np.subtract(*np.quantile(partials, (_HIGH, _LOW), 1))
        level = 10 * np.log10(power.sum(1) + _NOTHING)
        bands = 10 * np.log10(_means(power, edges) + _FULL_FLOOR)
        rows.append(np.concatenate([bands, contrast[:, None], level[:, None]], 1))
    table = np.concatenate(rows).astype(np.float64)  # (frames, 40)
    bands, contrast, level = table[:, :-2], table[:, -2], table[:, -1]
    heard = np.quantile(contrast[level > level.max() - _QUIET], SHARES)
    return Normal(bands.mean(0), np.cov(bands, rowvar=False)), heard


def _flux(levels: Levels, power: Levels) -> Matrix:
    """The quantiles of the flux of frames (n, 32), whose powers are (n,)."""
    loud = power >= power.max() * 10 ** (-_QUIET / 10)
    change = np.abs(np.diff(levels, axis=0)).mean(1)[loud[1:] | loud[:-1]]
    return np.asarray(np.quantile(np.log2(change + _LEAST_FLUX), SHARES))


def _pulse(levels: Levels) -> float:
    """The peak of the autocorrelation of onsets in frames (n, 32); 0 of less than 0.4 s."""
    onsets = np.diff(levels, axis=0).clip(0).mean(1)
    size = min(len(onsets), _PHRASE)
    first, last = _BEATS[0], min(_BEATS[1], size // 2)
    if last < first:
        return 0.0
    begins = np.linspace(0, len(onsets) - size, math.ceil(len(onsets) / size)).astype(int)
    pieces = onsets[begins[:, None] + np.arange(size)]
    correlation = _autocorrelation(pieces - pieces.mean(1, keepdims=True), last)
    fewer = size / (size - np.arange(last + 1))  # of a later lag there are fewer products
    return float((correlation * fewer / (correlation[:, :1] + _NOTHING))[:, first:].max(1).mean())


def _blocks(wave: Wave, size: int, step: int) -> Iterator[Wave]:
    """Frames (n, size) of a wave, so many samples apart, some at a time."""
    windows = sliding_window_view(wave, size)[::step]
    for begin in range(0, len(windows), _AT_ONCE):
        yield windows[begin : begin + _AT_ONCE]


def _powers(wave: Wave, step: int) -> Iterator[Floats]:
    """P (n, 1025) of the frames of a wave at 32 kHz, some at a time."""
    mirrored = np.pad(wave, _FULL_SIZE // 2, mode="reflect")
    for frames in _blocks(mirrored, _FULL_SIZE, step):
        spectrum = np.fft.rfft(frames * hann(_FULL_SIZE))
        yield np.square(np.abs(spectrum)) / np.float32(_FULL_HOP**2)


def _means(power: Floats, edges: Integers) -> Floats:
    """The mean of each band between edges (bands + 1,) in rows (n, bins)."""
    return np.asarray(np.add.reduceat(power[:, : edges[-1]], edges[:-1], 1) / np.diff(edges))


def _decibels(power: Floats) -> Levels:
    return np.asarray(10 * np.log10(power + _NONE), np.float32)


def _spectrum_edges() -> Integers:
    """Where the bands begin among the bins at 8 kHz, and where the last one ends, (33,)."""
    bands = np.arange(SPECTRUM_BANDS + 1)
    edges = np.round(_SIZE // 2 * (bands / SPECTRUM_BANDS) ** _WARP).astype(np.int64)
    return np.maximum.accumulate(edges - bands) + bands  # one bin each at least


def _band_edges() -> Integers:
    """The same at 32 kHz, (39,)."""
    steps = np.geomspace(_LOWEST, _FULL_SIZE // 2, _STEPS + 1)
    return np.unique(np.round(steps).astype(np.int64))


def _mel_edges() -> Integers:
    """The same of mel bands, (33,)."""
    mels = np.linspace(0, np.log1p(FULL / 2 / _MEL), MEL_BANDS + 1)
    return np.round(_MEL * np.expm1(mels) * _FULL_SIZE / FULL).astype(np.int64).clip(1)
