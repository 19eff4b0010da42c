"""How much a sound is like a recording: the Fréchet distance between their spectra.

Bits say how well a model predicts a recording, and little of how it sounds by itself. This measure
compares what comes out with the recording, as the Fréchet audio distance does (Kilgour et al.,
2019), with the log power of 32 bands in the place of a trained network's embedding. Both are taken
at 8 kHz, mono, times the factor that brings the recording's peak to 0.95. Of every frame (512
samples under a Hann window, 128 apart) P is the mean power in 32 bands with edges at the bins
256 (i / 32)^1.6, at least one bin each, and the frame is the vector 10 log10(P + 1e-7). With the
means m and covariances C of the frames of both sounds the distance is

    |m1 - m2|² + tr(C1 + C2 - 2 (C1 C2)^½)

and the measure is that distance divided by the one of 4 s of noise, uniform in ±1: 0 is the same
distribution of spectra, 1 is noise.

It hears timbre, loudness and how far they vary. It does not hear the order of the frames, so
neither rhythm nor melody nor words, nor a pitch to less than the width of a band: for that there is
the share of frames that have one of the recording's pitches. The covariance of a short sound is too
small, so it measures more than a long one that is as good: compare sounds of the same length, and
see the yardsticks.
"""

import functools
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from seqkit.data.sound import Wave
from seqkit.data.sound.resample import resample

RATE = 8000
"""Hertz at which sounds are compared."""
_PEAK = 0.95  # of the recording
_SIZE, _HOP = 512, 128
SHORTEST = _SIZE + 3 * _HOP
"""Samples at `RATE` of the shortest sound that is compared: four frames."""
_BANDS, _WARP = 32, 1.6
_FLOOR = 1e-7
_NOISE_SECONDS = 4
_FRAMES = 4096  # that are computed at a time
_PIECES = 8  # of the recording, that tell what a sound as short as they are comes to

_LOWEST = 40  # hertz of a pitch
_SECONDS = 0.125  # of a frame that has one
_CENTS = 30  # within which two pitches are the same
_SHARE = 0.01  # of the recording's frames that a pitch of its own has; and two of them
_QUIET = 40  # decibels below its loudest frame at which a frame is not heard
_BLOCK = 256  # frames whose pitch is found at a time

_Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Frames:
    """What is kept of a sound: the mean (32,) and the covariance (32, 32) of its frames."""

    mean: _Matrix
    covariance: _Matrix


class Recording:
    """A recording that sounds are compared with."""

    def __init__(self, wave: Wave, sample_rate: int) -> None:
        """Of samples (N,) at a rate in hertz.

        Raises:
            ValueError: it is silent, or its halves are shorter than `SHORTEST`.
        """
        wave = resample(wave, sample_rate, RATE)
        if len(wave) < 2 * SHORTEST:
            raise ValueError(f"a recording of at least {2 * SHORTEST / RATE:g} s is needed")
        peak = float(np.abs(wave).max(initial=0))
        if not peak:
            raise ValueError("the recording is silent")
        self._factor = _PEAK / peak
        self._wave = (wave * np.float32(self._factor)).astype(np.float32)
        self._frames = frames_of(self._wave)
        draw = np.random.default_rng(0)
        noise = draw.uniform(-1, 1, _NOISE_SECONDS * RATE).astype(np.float32)
        self._unit = distance(frames_of(noise), self._frames)

    def measure(self, wave: Wave, sample_rate: int) -> float:
        """How far a sound (N,) is from the recording: 0 is none, 1 is as far as noise.

        Raises:
            ValueError: it is shorter than four frames.
        """
        scaled = resample(wave, sample_rate, RATE) * np.float32(self._factor)
        return self._to(frames_of(scaled))

    @functools.cached_property
    def _cents(self) -> _Matrix:
        return _cents(self._wave)

    def on_pitch(self, wave: Wave, sample_rate: int) -> float:
        """The share of the frames of a sound (N,) on the recording's pitches: see `_on_pitch`."""
        return _on_pitch(_cents(resample(wave, sample_rate, RATE)), self._cents)

    def halves(self) -> tuple[float, float]:
        """The measure, and the share on pitch, of its second half held against the first."""
        middle = len(self._wave) // 2
        first, second = self._wave[:middle], self._wave[middle:]
        apart = distance(frames_of(first), frames_of(second)) / self._unit
        return apart, _on_pitch(_cents(second), _cents(first))

    def shuffled(self) -> tuple[float, float]:
        """The measure, and the share on pitch, of its own samples in a random order."""
        mixed = np.random.default_rng(1).permutation(self._wave)
        return self._to(frames_of(mixed)), _on_pitch(_cents(mixed), self._cents)

    def pieces(self, seconds: float) -> float:
        """The mean measure of pieces of the recording of so many seconds, spread over it."""
        length = min(max(round(seconds * RATE), SHORTEST), len(self._wave))
        begins = np.linspace(0, len(self._wave) - length, _PIECES).astype(int)
        found = [self._to(frames_of(self._wave[begin : begin + length])) for begin in begins]
        return float(np.mean(found))

    def _to(self, frames: Frames) -> float:
        return distance(frames, self._frames) / self._unit


def frames_of(wave: Wave) -> Frames:
    """The frames of a wave (N,) at `RATE`. Raises ValueError for fewer than `SHORTEST` samples."""
    if len(wave) < SHORTEST:
        raise ValueError(f"a sound of at least {SHORTEST / RATE:g} s is needed")
    windows = np.lib.stride_tricks.sliding_window_view(wave, _SIZE)[::_HOP]
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_SIZE) / _SIZE)
    edges = _edges()
    blocks = []
    for begin in range(0, len(windows), _FRAMES):
        spectrum = np.fft.rfft(windows[begin : begin + _FRAMES] * hann)[:, : edges[-1]]
        power = np.add.reduceat(np.square(np.abs(spectrum)), edges[:-1], axis=1)
        blocks.append(10 * np.log10(power / np.diff(edges) + _FLOOR))
    frames = np.concatenate(blocks)
    return Frames(frames.mean(0), np.cov(frames, rowvar=False))


def distance(one: Frames, other: Frames) -> float:
    """The squared Fréchet distance of two normal distributions (Dowson and Landau, 1982)."""
    root = _root(one.covariance)
    # (C1 C2)^½ and (C1^½ C2 C1^½)^½ have the same trace; the second is symmetric.
    inner = root @ other.covariance @ root
    cross = np.sqrt(np.linalg.eigvalsh(inner).clip(min=0)).sum()
    apart = np.square(one.mean - other.mean).sum()
    traces = np.trace(one.covariance) + np.trace(other.covariance)
    return max(float(apart + traces - 2 * cross), 0.0)


def _root(matrix: _Matrix) -> _Matrix:
    """The square root of a symmetric matrix without negative eigenvalues, but for rounding."""
    values, vectors = np.linalg.eigh(matrix)
    found: _Matrix = (vectors * np.sqrt(values.clip(min=0))) @ vectors.T
    return found


def _edges() -> npt.NDArray[np.int64]:
    """Where the bands begin among the bins of a spectrum, and where the last one ends, (33,)."""
    edges = np.round(_SIZE // 2 * (np.arange(_BANDS + 1) / _BANDS) ** _WARP).astype(np.int64)
    for band in range(1, _BANDS + 1):
        edges[band] = max(edges[band], edges[band - 1] + 1)
    return edges


def pitches(wave: Wave, sample_rate: int, seconds: float = _SECONDS) -> _Matrix:
    """The frequency in hertz of the strongest spectral peak of every frame (frames,).

    Frames overlap by half; the peak of the Hann-windowed spectrum is placed by a parabola through
    its logarithm (J. O. Smith, "Spectral Audio Signal Processing").
    """
    blocks = _blocks(wave, round(seconds * sample_rate))
    return np.concatenate([np.zeros(0), *(_hertz(frames, sample_rate) for frames in blocks)])


def _cents(wave: Wave) -> _Matrix:
    """The pitches at `RATE` of the frames that are heard, in cents, in ascending order."""
    blocks = _blocks(wave, round(_SECONDS * RATE))
    power = np.concatenate([np.zeros(0), *(np.square(frames).mean(1) for frames in blocks)])
    heard = (power > 0) & (power >= power.max(initial=0) * 10 ** (-_QUIET / 10))
    return np.sort(1200 * np.log2(pitches(wave, RATE)[heard]))


def _on_pitch(found: _Matrix, own: _Matrix) -> float:
    """The share of the frames of a sound that have one of a recording's pitches, from the cents.

    That is a pitch within 30 cents of which the recording has at least two of its frames, and one
    in a hundred. Frames 40 dB below the loudest one are left out, of both. A recording that glides
    through all pitches, as a voice does, has noise on its pitches, too.
    """
    if not len(found):
        return 0.0
    near = np.searchsorted(own, found + _CENTS) - np.searchsorted(own, found - _CENTS)
    return float((near >= max(2, _SHARE * len(own))).mean())


def _blocks(wave: Wave, size: int) -> Iterator[_Matrix]:
    """Frames (n, size) of a wave, some at a time; none if it is shorter than one."""
    if len(wave) < size:
        return
    frames = np.lib.stride_tricks.sliding_window_view(wave, size)[:: size // 2]
    for begin in range(0, len(frames), _BLOCK):
        yield frames[begin : begin + _BLOCK].astype(np.float64)


def _hertz(frames: _Matrix, sample_rate: int) -> _Matrix:
    size = frames.shape[1]
    length = 8 * size
    spectrum = np.abs(np.fft.rfft(frames * np.hanning(size), length))
    spectrum[:, : int(_LOWEST * length / sample_rate)] = 0
    peak = np.clip(spectrum.argmax(1), 1, spectrum.shape[1] - 2)
    low, mid, high = (
        np.log(np.take_along_axis(spectrum, (peak + shift)[:, None], 1)[:, 0] + 1e-9)
        for shift in (-1, 0, 1)
    )
    curve = low - 2 * mid + high
    offset = np.where(curve < 0, 0.5 * (low - high) / np.where(curve < 0, curve, 1), 0)
    hertz: _Matrix = (peak + offset) * sample_rate / length
    return hertz
