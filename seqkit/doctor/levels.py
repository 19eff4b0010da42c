"""How loud a wave is, how much of it is silence, and how far it lies from the middle."""

import numpy as np

from seqkit.data.sound import Wave
from seqkit.symbols import Integers

_FRAMES = 50  # a second; each is silent or not
_LOWEST = -120  # decibels; what is quieter counts as this
_BELOW_PEAK = 50.0  # decibels below the loudest swing at which a frame is silent
_SILENT = -70.0  # decibels of full scale at which a frame is silent, whatever the rest is


def decibels(amplitude: float) -> float:
    """An amplitude in decibels of full scale, -120 at the lowest."""
    return max(float(_LOWEST), 20 * float(np.log10(max(amplitude, 1e-9))))


class Levels:
    """Statistics of a wave that comes in blocks; memory does not grow with it."""

    def __init__(self) -> None:
        self._low, self._high, self._sum = np.inf, -np.inf, 0.0
        self._frames: Integers = np.zeros(1 - _LOWEST, np.int64)  # how many, by decibels below 0
        self.samples = 0

    def add(self, wave: Wave, sample_rate: int) -> None:
        """Take in the next samples (n,), of which there are `sample_rate` in a second."""
        if not wave.size:
            return
        self._low = min(self._low, float(wave.min()))
        self._high = max(self._high, float(wave.max()))
        self._sum += float(wave.sum(dtype=np.float64))
        self.samples += wave.size
        size = max(1, sample_rate // _FRAMES)
        whole = wave.size // size * size
        frames = wave[:whole].reshape(-1, size) if whole else wave[None]
        loud = 20 * np.log10(np.maximum(frames.std(1), 1e-9))
        below = np.clip(-np.rint(loud), 0, -_LOWEST).astype(np.int64)
        self._frames += np.bincount(below, minlength=len(self._frames))

    def include(self, other: "Levels") -> None:
        """Take in all that another wave's levels have."""
        self._low = min(self._low, other._low)
        self._high = max(self._high, other._high)
        self._sum += other._sum
        self.samples += other.samples
        self._frames += other._frames

    @property
    def peak(self) -> float:
        """The largest distance from 0."""
        return max(abs(self._low), abs(self._high)) if self.samples else 0.0

    @property
    def swing(self) -> float:
        """Half the distance from the lowest to the highest sample, which no offset changes."""
        return (self._high - self._low) / 2 if self.samples else 0.0

    @property
    def offset(self) -> float:
        """The mean: the constant (DC) on which the sound rides."""
        return self._sum / self.samples if self.samples else 0.0

    @property
    def silence(self) -> float:
        """The share of silent frames of 20 ms, their own offset taken out."""
        bound = max(_SILENT, decibels(self.swing) - _BELOW_PEAK)
        first = int(np.ceil(-bound))
        return float(self._frames[first:].sum() / max(self._frames.sum(), 1))
