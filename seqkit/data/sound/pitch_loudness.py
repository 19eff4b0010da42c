"""Pitch and loudness as one category, 100 times a second.

The pitch is that of YIN (de Cheveigné and Kawahara, 2002, steps 1 to 5): of the differences d(τ)
between a window and itself τ samples later, divided by their mean up to τ, the first minimum below
a threshold, else the lowest, placed by a parabola. A frame whose minimum is high, or which is far
below the loudest, has no pitch. The median of five frames takes single errors away.

A category is a pair of a semitone, or no pitch, and of 3 dB of loudness that the recording has.
"""

import numpy as np

from seqkit.data.sound import Wave
from seqkit.data.sound.slow_codes import Codebook
from seqkit.symbols import Floats

FRAMES = 100
"""Frames a second."""
_WINDOW = 0.025  # seconds
_LOWEST, _HIGHEST = 55.0, 1600.0  # hertz
_THRESHOLD, _UNCLEAR = 0.15, 0.4  # of the normalised difference
_NEAR = 0.1
_QUIET = 40.0  # decibels below the loudest frame
_MEDIAN = 5  # frames
_FLOOR = 1e-7
_AT_ONCE = 2048  # frames
_PAUSE = 20.0  # decibels below the loudest frame
_STEP, _RANGE = 3.0, 33.0  # decibels
# A semitone is as far as 6 steps of loudness, so that what is missing keeps its note.
_MIDDLE, _BASIS = (60, 0), ((6, 0), (0, 1 / _STEP))
_PERIODS = (3, 6, 12, 24, 48, 96), (12, 24, 48, 96)  # semitones and decibels
_MOST, _LEAST = 511, 5  # pairs, and frames of each
_SHARE = 0.01  # of all frames, which a note has at least


class PitchBook(Codebook):
    """What tells a frame's pair; what is measured of a frame is the pair."""

    kind = "pitch_loudness"
    frame_rate = FRAMES

    @property
    def pairs(self) -> Floats:
        """What the categories stand for, (K, 2), as `melody_of` gives it."""
        return np.asarray(self.centres / self.basis.diagonal() + self.mean)

    @property
    def features(self) -> Floats:
        """Waves of several periods (Vaswani et al., 2017): near pairs are alike, but differ."""
        values = zip(self.pairs.T, _PERIODS, strict=True)
        turns = np.concatenate([np.divide.outer(own, periods) for own, periods in values], 1)
        waves = np.sin(2 * np.pi * turns), np.cos(2 * np.pi * turns)
        return np.concatenate(waves, 1).astype(np.float32)

    def measure(self, wave: Wave) -> Floats:
        """See Codebook."""
        return melody_of(wave, self.sample_rate)


def learn(wave: Wave, sample_rate: int) -> PitchBook:
    """The pairs of a sound (N,), N at least 1."""
    notes, decibels = melody_of(wave, sample_rate).T
    decibels = decibels.clip(decibels.max() - _RANGE)
    rounded = np.stack([np.round(notes), _STEP * np.round(decibels / _STEP)], 1)
    _, place, counts = np.unique(rounded[:, 0], return_inverse=True, return_counts=True)
    heard = rounded[counts[place] >= _SHARE * len(notes)]
    pairs, counts = np.unique(heard, axis=0, return_counts=True)
    often = np.argsort(-counts, kind="stable")[:_MOST]
    often = often[counts[often] >= min(_LEAST, counts.max())]
    mean, basis = np.array(_MIDDLE, np.float32), np.array(_BASIS, np.float32)
    centres = ((pairs[np.sort(often)] - mean) @ basis).astype(np.float32)
    return PitchBook(sample_rate, mean, basis, centres)


def level(decibels: Floats) -> float:
    """The level of frames (n,) without pauses: the mean of those within 20 dB of the loudest."""
    return float(decibels[decibels > decibels.max() - _PAUSE].mean())


def note_of(hertz: Floats) -> Floats:
    """The semitones of frequencies, as MIDI counts them: 69 is 440 Hz."""
    return np.asarray(69 + 12 * np.log2(hertz / 440))


def melody_of(wave: Wave, sample_rate: int) -> Floats:
    """Semitones, 0 without a pitch, and decibels, (frames, 2), of a wave (N,).

    The last frame may go beyond its end.
    """
    if not len(wave):
        return np.zeros((0, 2))
    hop = max(1, round(sample_rate / FRAMES))
    size, most = round(sample_rate * _WINDOW), round(sample_rate / _LOWEST)
    length, count = size + most + 1, -(-len(wave) // hop)
    before = (length - hop) // 2
    padded = np.zeros((count - 1) * hop + length, np.float64)
    padded[before : before + len(wave)] = wave
    windows = np.lib.stride_tricks.sliding_window_view(padded, length)[::hop]
    least = max(2, round(sample_rate / _HIGHEST))
    found = [
        _periods(windows[begin : begin + _AT_ONCE], size, least)
        for begin in range(0, count, _AT_ONCE)
    ]
    lag, unclear, power = (np.concatenate(column) for column in zip(*found, strict=True))
    decibels = 10 * np.log10(power + _FLOOR)
    pitched = (unclear < _UNCLEAR) & (decibels > decibels.max() - _QUIET)
    notes = np.pad(np.where(pitched, note_of(sample_rate / lag), 0), _MEDIAN // 2, mode="edge")
    middle = np.median(np.lib.stride_tricks.sliding_window_view(notes, _MEDIAN), 1)
    return np.stack([middle, decibels], 1)


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
