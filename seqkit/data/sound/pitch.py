"""Pitch, 100 times a second, and the semitone as a category.

The pitch is that of YIN (de Cheveigné and Kawahara, 2002, steps 1 to 5): of the differences d(τ)
between a window and itself τ samples later, divided by their mean up to τ, the first minimum below
a threshold, else the lowest, placed by a parabola. A frame whose minimum is high, or which is far
below the loudest, has no pitch. The median of five frames takes single errors away.
"""

from collections.abc import Iterator

import numpy as np

from seqkit.data.sound import Samples, stretch
from seqkit.data.sound.slow_codes import Codebook
from seqkit.symbols import Floats

FRAMES = 100
"""Frames a second."""
_WINDOW = 0.025  # seconds
_LOWEST, _HIGHEST = 55.0, 1600.0  # hertz
_THRESHOLD, _UNCLEAR = 0.15, 0.4  # of the normalised difference
_NEAR = 0.1
_QUIET = 25.0  # decibels below the loudest frame: a model that is given a note is to be heard
_MEDIAN = 5  # frames
_FLOOR = 1e-7
_AT_ONCE = 2048  # frames
_PERIODS = (3, 6, 12, 24, 48, 96)  # semitones
_SHARE = 0.003  # of all frames, which a note has at least


class PitchBook(Codebook):
    """What tells a frame's semitone, 0 for no pitch."""

    kind = "pitch"
    frame_rate = FRAMES

    @property
    def notes(self) -> Floats:
        """The semitones of the categories 1 … K, (K,)."""
        return self.centres[:, 0]

    @property
    def features(self) -> Floats:
        """Waves of several periods (Vaswani et al., 2017): near notes are alike, but differ."""
        turns = 2 * np.pi * np.divide.outer(self.notes, _PERIODS)
        return np.concatenate([np.sin(turns), np.cos(turns)], 1).astype(np.float32)

    def measure(self, wave: Samples) -> Iterator[Floats]:
        """See Codebook."""
        yield melody_of(wave, self.sample_rate)[:, None]


def learn(wave: Samples, sample_rate: int) -> PitchBook:
    """The notes of a sound (N,), N at least 1."""
    rounded = np.round(melody_of(wave, sample_rate))
    notes, counts = np.unique(rounded, return_counts=True)
    often = notes[counts >= min(_SHARE * len(rounded), counts.max())]
    mean, basis = np.zeros(1, np.float32), np.ones((1, 1), np.float32)
    return PitchBook(sample_rate, mean, basis, often[:, None].astype(np.float32))


def melody_of(wave: Samples, sample_rate: int) -> Floats:
    """Semitones as MIDI counts them (69 is 440 Hz), 0 without a pitch, (frames,), of a wave (N,).

    Frames far below the loudest have no pitch. The last one may go beyond the wave's end.
    """
    if not len(wave):
        return np.zeros(0)
    hop = max(1, round(sample_rate / FRAMES))
    size, most = round(sample_rate * _WINDOW), round(sample_rate / _LOWEST)
    length, count = size + most + 1, -(-len(wave) // hop)
    least = max(2, round(sample_rate / _HIGHEST))
    blocks = []
    for begin in range(0, count, _AT_ONCE):
        place, frames = begin * hop - (length - hop) // 2, min(_AT_ONCE, count - begin)
        sound = stretch(wave, place, place + (frames - 1) * hop + length).astype(np.float64)
        windows = np.lib.stride_tricks.sliding_window_view(sound, length)[::hop]
        blocks.append(_periods(windows, size, least))
    lag, unclear, power = (np.concatenate(column) for column in zip(*blocks, strict=True))
    decibels = 10 * np.log10(power + _FLOOR)
    pitched = (unclear < _UNCLEAR) & (decibels > decibels.max() - _QUIET)
    semitones = 69 + 12 * np.log2(sample_rate / lag / 440)
    notes = np.pad(np.where(pitched, semitones, 0), _MEDIAN // 2, mode="edge")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(notes, _MEDIAN), 1))


def _periods(frames: Floats, size: int, least: int) -> tuple[Floats, Floats, Floats]:
    """Period in samples, normalised difference there and power of frames, each (n,)."""
    lags = frames.shape[1] - size
    weights = np.hanning(frames.shape[1])
    power = np.square(frames) @ (weights / weights.sum())
    points = 1 << (frames.shape[1] + size).bit_length()
    spectra = np.fft.rfft(frames, points), np.fft.rfft(frames[:, :size], points)
    product = np.fft.irfft(spectra[0] * spectra[1].conj(), points)[:, :lags]
    sums = np.pad(np.cumsum(np.square(frames), 1), ((0, 0), (1, 0)))
    energy = sums[:, size : size + lags] - sums[:, :lags]
    apart = (energy[:, :1] + energy - 2 * product).clip(min=0)
    means = np.cumsum(apart, 1) / np.maximum(np.arange(lags), 1)
    scaled = np.where(means > _FLOOR * 1e-3, apart / means.clip(min=1e-30), 1.0)
    inner = scaled[:, least : lags - 1]
    low, high = scaled[:, least - 1 : lags - 2], scaled[:, least + 1 : lags]
    near = np.maximum(_THRESHOLD, inner.min(1, keepdims=True) + _NEAR)
    good = (inner <= low) & (inner <= high) & (inner < near)
    place = np.where(good.any(1), good.argmax(1), inner.argmin(1))[:, None]
    below, at, above = (np.take_along_axis(part, place, 1)[:, 0] for part in (low, inner, high))
    bend = below - 2 * at + above
    shift = np.where(bend > 0, (below - above) / np.where(bend > 0, 2 * bend, 1), 0).clip(-1, 1)
    return least + place[:, 0] + shift, at, power
