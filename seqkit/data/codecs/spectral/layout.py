"""Frames of sound as rows of numbers, which are as near each other as the ear finds the frames.

Of each channel and bin a row has the decibels above a floor, which is 90 dB under the loudest bin
of the recording, times (f + 300)^-½, since hearing is finer at the bottom. Of two channels it also
has how alike they are in each band: the cosine of the angle between them, from -1 to 1. The angle
is given back with changing sign, so that a band is as wide as it was, and channels that are opposed
stay so (as in parametric stereo: Breebaart, van de Par, Kohlrausch and Schuijers, 2005).
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs.spectral.transform import Rows, Spectra
from seqkit.symbols import Floats, Integers

_RANGE = 90.0  # decibels from the floor to the loudest bin
_SILENT = 8.0  # decibels above the floor up to which nothing is heard
_BEND = 300.0  # hertz
_BANDS, _LOWEST = 24, 100.0  # and hertz at which the first one ends
_ALIKE = 12.0  # decibels of one channel that matter as much as a cosine of 1
_NEPERS = np.float32(np.log(10) / 20)  # of a decibel
AROUND = 4
"""The frames before and after one that its targets depend on."""
_STEADY = np.float32(2)  # decibels from one frame to another that are mostly the quantiser's


@dataclass(frozen=True)
class Layout:
    """What rows of C channels at `sample_rate` mean; their windows have `size` N samples.

    top: of the loudest bin, in decibels.
    lift: decibels added to each band of each channel, (C bands,), when a row becomes sound; none by
        default.
    """

    size: int
    sample_rate: int
    channels: int
    top: float
    lift: tuple[float, ...] = ()

    @property
    def bins(self) -> int:
        """Of a channel."""
        return self.size // 2 + 1

    @property
    def columns(self) -> int:
        """Of a row."""
        return self.bins * self.channels + (len(self.edges) if self.channels == 2 else 0)

    @cached_property
    def edges(self) -> Integers:
        """The first bin of each band."""
        hertz = np.geomspace(min(_LOWEST, self.sample_rate / 4), self.sample_rate / 2, _BANDS)
        return np.unique([0, *np.rint(hertz[:-1] * self.size / self.sample_rate).astype(int)])

    @cached_property
    def weights(self) -> Rows:
        """Of each bin; the mean of their squares is 1."""
        hertz = np.arange(self.bins) * self.sample_rate / self.size
        weights = (hertz + _BEND) ** -0.5
        return np.asarray(weights / np.sqrt((weights**2).mean()), np.float32)

    @cached_property
    def band_weights(self) -> Rows:
        """What a cosine of 1 counts in each band."""
        squares: Floats = np.add.reduceat(self.weights**2, self.edges)
        return np.asarray(_ALIKE * np.sqrt(squares), np.float32)

    def rows(self, spectra: Spectra) -> Rows:
        """The rows (n, columns) of frames (n, C, bins)."""
        levels = np.log(np.maximum(np.abs(spectra), self._floor) / self._floor) / _NEPERS
        weighted = np.asarray(levels * self.weights, np.float32)
        rows = weighted.reshape(len(spectra), self.channels * self.bins)
        if self.channels == 1:
            return rows
        left, right = self.powers(spectra).transpose(1, 0, 2)
        both = np.add.reduceat((spectra[:, 0] * spectra[:, 1].conj()).real, self.edges, -1)
        alike = both / np.sqrt(np.maximum(left * right, np.float32(1e-20)))
        return np.concatenate([rows, alike * self.band_weights], 1)

    def silent(self, rows: Rows) -> npt.NDArray[np.bool_]:
        """Which of rows (n, columns) have nothing that is heard, (n,)."""
        return np.asarray((self._levels(rows) <= _SILENT).all((1, 2)))

    def targets(self, rows: Rows) -> Spectra:
        """The frames (n, C, bins) of rows, without the phase that their channels have in common.

        The rows follow each other in time, and are 0 for silence.
        """
        levels = steadied(self._levels(rows))
        sizes = np.where(levels > _SILENT, self._floor * _exp(levels * _NEPERS), 0)
        counts = np.diff([*self.edges, self.bins])
        if self.lift:
            lift = np.reshape(self.lift, (self.channels, -1)).astype(np.float32)
            sizes *= np.repeat(_exp(lift * _NEPERS), counts, 1)
        if self.channels == 1:
            return sizes.astype(np.complex64)
        alike = np.clip(rows[:, -len(self.edges) :] / self.band_weights, -1, 1)
        signs = 1 - np.arange(len(counts)) % 2 * 2
        turns = alike + 1j * np.sqrt(1 - alike**2) * signs
        sizes = sizes.astype(np.complex64)
        sizes[:, 1] *= np.repeat(turns, counts, 1)
        return sizes

    def powers(self, spectra: Spectra) -> Rows:
        """Of each channel and band of frames, (n, C, bands)."""
        powers: Rows = np.add.reduceat(spectra.real**2 + spectra.imag**2, self.edges, -1)
        return powers

    def _levels(self, rows: Rows) -> Rows:
        """Decibels above the floor, (n, C, bins)."""
        columns = self.bins * self.channels
        return rows[:, :columns].reshape(len(rows), self.channels, self.bins) / self.weights

    @cached_property
    def _floor(self) -> np.float32:
        return np.float32(10 ** ((self.top - _RANGE) / 20))


def steadied(levels: Rows) -> Rows:
    """Levels (n, C, bins) without the flicker of a quantiser, which is heard as stripes.

    Each is a mean over the frames around, in which a level counts the less the more it differs: so
    attacks stay as they are (a bilateral filter: Tomasi and Manduchi, 1998).
    """
    moved, weights = np.zeros_like(levels), np.ones_like(levels)
    for apart in range(1, min(AROUND, len(levels) - 1) + 1):
        steps = levels[apart:] - levels[:-apart]
        near = 1 + np.square(steps / _STEADY)
        near = 1 / (near * near)
        steps *= near
        moved[:-apart] += steps
        moved[apart:] -= steps
        weights[:-apart] += near
        weights[apart:] += near
    steady: Rows = levels + moved / weights
    return steady


def _exp(values: Rows) -> Rows:
    """Their exponentials, the same on every machine: in single precision its last bit differs."""
    return np.exp(values, dtype=np.float64).astype(np.float32)
