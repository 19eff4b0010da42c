"""A sound at the two rates at which it is compared: 8 kHz (`likeness`), 32 kHz (`full_band`)."""

from typing import NamedTuple

import numpy as np

from seqkit.data.sound import Wave
from seqkit.data.sound.resample import resample
from seqkit.evaluation import full_band, likeness
from seqkit.evaluation.full_band import FullBand
from seqkit.evaluation.likeness import Distances, Heard

_MOST_PIECES = 40


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
        return cls(*(resample(wave, sample_rate, rate) for rate in (likeness.RATE, full_band.RATE)))

    def times(self, factor: float, full_factor: float) -> "Sound":
        """Louder, or less loud."""
        return Sound(self.low * np.float32(factor), self.full * np.float32(full_factor))

    def hear(self) -> Hearing:
        """Its frames. Raises ValueError for fewer than `likeness.SHORTEST` samples."""
        return Hearing(likeness.hear(self.low), full_band.hear(self.full))

    def pieces(self, seconds: float, count: int | None = None) -> "list[Sound]":
        """See `pieces_of`."""
        low = pieces_of(self.low, round(seconds * likeness.RATE), count)
        return [*map(Sound, low, pieces_of(self.full, round(seconds * full_band.RATE), len(low)))]


def distances(one: Hearing, other: Hearing) -> Distances:
    """How far two sounds are from each other, not scaled."""
    found = likeness.distances(one.low, other.low)
    if one.full is None or other.full is None:
        return found
    band, contrast = full_band.distances(one.full, other.full)
    return found._replace(band=band, contrast=contrast)


def noise_from(sound: Sound, heard: Hearing) -> Distances:
    """How far noise is from a recording, the unit of each distance."""
    assert heard.full is not None
    band, contrast = full_band.noise_from(sound.full, heard.full)
    return likeness.noise_from(sound.low, heard.low)._replace(band=band, contrast=contrast)


def pieces_of(wave: Wave, size: int, count: int | None = None) -> list[Wave]:
    """Pieces of so many samples, at equal distances from the first to the last.

    By default they are half of one apart, but there are at most 40.
    """
    count = count or min(_MOST_PIECES, 2 * len(wave) // size - 1)
    begins = np.linspace(0, len(wave) - size, count).astype(int).tolist()
    return [wave[begin : begin + size] for begin in begins]
