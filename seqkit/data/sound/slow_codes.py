"""Slow codes: which of a recording's own sounds is heard at a moment, 50 times a second.

A frame of sound is described by the power of 32 bands, which give its timbre, and by that of its
semitones, which give its notes. Both count alike. What is left of them in 32 principal components
is compared with centres that k-means (Lloyd, 1982) found among the recording's own frames: the code
of a frame is the number of the nearest, from 1 on. 0 is left for no code.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from seqkit.data.sound import Samples, hann, stretch
from seqkit.symbols import Floats, Symbols, symbol_dtype

FRAMES = 50
"""Frames a second."""
WIDTH = 32
"""Numbers that describe a frame: principal components."""
MOST = 192
"""Codes; notes are always fewer."""
_SHARE = 4  # frames for each code
_TIMBRE, _NOTES = 0.064, 0.128  # seconds of a window
_BANDS, _WARP = 32, 1.6
_LOWEST = 60.0  # hertz of a semitone
_HIGHEST = 4000.0
_FLOOR = 1e-7
_LEARNT = 20_000  # frames that the centres are found among
_ROUNDS = 30
_AT_ONCE = 4096  # frames


@dataclass(frozen=True)
class Codebook:
    """What tells a frame's code.

    sample_rate: hertz of the sound.
    mean (F,), basis (F, 32): what turns what is measured of a frame, its powers, into 32 numbers.
    centres (K, 32): of the codes 1 … K.
    """

    kind: ClassVar[str] = "codes"
    """As `data.conditions` names it."""
    frame_rate: ClassVar[int] = FRAMES
    """Frames a second."""

    sample_rate: int
    mean: Floats
    basis: Floats
    centres: Floats

    @property
    def size(self) -> int:
        """K + 1: how many categories there are, the one for no code included."""
        return len(self.centres) + 1

    @property
    def hop(self) -> int:
        """Samples of a frame."""
        return _hop(self.sample_rate, self.frame_rate)

    @property
    def features(self) -> Floats:
        """What a network's embedding of the codes begins with, (K, E)."""
        return self.centres

    def measure(self, wave: Samples) -> Iterator[Floats]:
        """What is measured (n, F) of frames of a wave (N,); the last may go beyond its end."""
        return _powers(wave, self.sample_rate)

    def describe(self, wave: Samples) -> Floats:
        """The numbers (frames, 32) of a wave (N,)."""
        none = np.zeros((0, self.basis.shape[1]), np.float32)
        described = ((measured - self.mean) @ self.basis for measured in self.measure(wave))
        return np.concatenate([none, *described], dtype=np.float32)

    def codes(self, described: Floats) -> Symbols:
        """The codes (frames,) of frames that `describe` described."""
        blocks = [
            _nearest(described[begin : begin + _AT_ONCE], self.centres)
            for begin in range(0, len(described), _AT_ONCE)
        ]
        numbers = np.concatenate([np.zeros(0, np.int64), *blocks]) + 1
        return numbers.astype(symbol_dtype(self.size))


def learn(wave: Samples, sample_rate: int, seed: int) -> Codebook:
    """The codes of a recording (N,), of half a second at least."""
    draw = np.random.default_rng(seed)
    count = -(-len(wave) // _hop(sample_rate))
    drawn = np.ones(count, bool)
    if count > _LEARNT:
        drawn[:] = False
        drawn[draw.choice(count, _LEARNT, replace=False)] = True
    blocks = np.split(drawn, range(_AT_ONCE, count, _AT_ONCE))
    measured = zip(_powers(wave, sample_rate), blocks, strict=True)
    powers = np.concatenate([found[kept] for found, kept in measured])
    mean = powers.mean(0)
    _, sizes, axes = np.linalg.svd(powers - mean, full_matrices=False)
    basis = np.zeros((powers.shape[1], WIDTH), np.float32)
    kept = min(WIDTH, int((sizes > sizes.max() * 1e-5).sum()))
    basis[:, :kept] = axes[:kept].T
    described = (powers - mean) @ basis
    described /= (scale := max(float(described.std()), 1e-6))
    centres = _k_means(described, max(1, min(MOST, len(described) // _SHARE)), draw)
    return Codebook(sample_rate, mean, basis / np.float32(scale), centres)


def _k_means(points: Floats, count: int, draw: np.random.Generator) -> Floats:
    """Centres (count, 32) of points (N, 32)."""
    centres = points[draw.choice(len(points), count, replace=False)].copy()
    for _ in range(_ROUNDS):
        nearest = _nearest(points, centres)
        sums = np.zeros_like(centres)
        np.add.at(sums, nearest, points)
        counts = np.bincount(nearest, minlength=count)
        centres = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        centres = centres.astype(np.float32)
    return centres


def _nearest(points: Floats, centres: Floats) -> npt.NDArray[np.int64]:
    distances = np.square(centres).sum(1) - 2 * points @ centres.T
    nearest: npt.NDArray[np.int64] = distances.argmin(1)
    return nearest


def _hop(sample_rate: int, frame_rate: int = FRAMES) -> int:
    return max(1, round(sample_rate / frame_rate))


def _powers(wave: Samples, sample_rate: int) -> Iterator[Floats]:
    """The powers (n, F) of frames' bands and semitones in decibels, both scaled alike."""
    nyquist = sample_rate / 2
    bands = nyquist * (np.arange(_BANDS + 1) / _BANDS) ** _WARP
    count = int(12 * np.log2(min(_HIGHEST, nyquist) / _LOWEST))
    notes = _LOWEST * 2 ** ((np.arange(max(count, 1) + 1) - 0.5) / 12)
    sets = ((bands, _TIMBRE), (notes, _NOTES))
    frames = -(-len(wave) // _hop(sample_rate))
    for begin in range(0, frames, _AT_ONCE):
        block = range(begin, min(begin + _AT_ONCE, frames))
        powers = [_levels(wave, sample_rate, block, edges, seconds) for edges, seconds in sets]
        # As many bands as semitones would weigh alike; there are more of one than of the other.
        scaled = [levels / np.float32(np.sqrt(levels.shape[1])) for levels in powers]
        yield np.concatenate(scaled, 1)


def _levels(
    wave: Samples, rate: int, frames: range, edges: npt.NDArray[np.float64], seconds: float
) -> Floats:
    """The mean power between edges in hertz, in decibels, of frames in the middle of a window."""
    hop, size = _hop(rate), 2 * round(rate * seconds / 2)
    begin = frames.start * hop - (size - hop) // 2
    sound = stretch(wave, begin, begin + (len(frames) - 1) * hop + size)
    spectra = np.fft.rfft(sliding_window_view(sound, size)[::hop] * hann(size))
    powers = (np.square(np.abs(spectra)) / np.float32(size)).astype(np.float64)
    # Bands that are narrower than the spectrum's bins take their share of them.
    places = np.clip(edges * size / rate + 0.5, 0, size // 2 + 1)
    low = np.minimum(places.astype(np.int64), size // 2)
    whole = np.concatenate([np.zeros((len(powers), 1)), np.cumsum(powers, 1)], 1)
    below = whole[:, low] + (places - low) * powers[:, low]
    means = np.diff(below, axis=1) / np.maximum(np.diff(places), 1e-9)
    return np.asarray(10 * np.log10(means.clip(min=0) + _FLOOR), np.float32)
