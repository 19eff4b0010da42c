"""How long windows are: long for tones, short for speech and drums.

Of each length a codec is fitted to frames of all the recording. The error is the mean difference in
decibels between some seconds of it and what the codec makes of these, as few bands in short windows
hear it (attacks), as many bands in long ones (partials), and as between the two. The middle length
is taken unless another one is clearly better.
"""

from collections.abc import Callable

import numpy as np

from seqkit.data.codecs.spectral.codec import Spectral, excerpt
from seqkit.data.codecs.spectral.transform import OVERLAP, Transform
from seqkit.data.sound import Frames
from seqkit.symbols import Floats

LENGTHS = (0.5, 1, 2)
"""The lengths that are tried, of the middle one."""
_MIDDLE = 0.046  # seconds, the length of the middle one of three
_HEARD = ((1 / 8, 16), (1 / 2, 48), (2, 160))  # windows of that length, and bands
_FITTED = 4096  # frames
_RANGE = 60.0  # decibels that are heard below the loudest
_BETTER = 0.77  # of the error of the middle length; from 0.8 on a guitar would flicker
_MEL = 700.0  # hertz, below which bands are as wide as each other


def choose(
    samples: Frames, sample_rate: int, done: Callable[[int], object] = lambda count: None
) -> int:
    """The length N of the windows for samples (n, C), n > 0; `done` is told of each tried."""
    middle: int = max(2 ** round(np.log2(sample_rate * _MIDDLE)), 64)
    part = excerpt(samples, sample_rate)
    errors = {}
    for share in LENGTHS:
        size = round(share * middle)
        codec = Spectral.fit(samples, sample_rate, size, _FITTED)
        errors[size] = error(part, codec.unlimited()(codec.encode(part), True), sample_rate, middle)
        done(1)
    best = min(errors, key=errors.__getitem__)
    return best if errors[best] < _BETTER * errors[middle] else middle


def error(samples: Frames, made: Frames, sample_rate: int, middle: int) -> float:
    """The decibels by which sounds (n, C) differ, heard around windows of `middle` samples."""
    differences = []
    for share, bands in _HEARD:
        size = round(share * middle)
        wanted = _levels(samples, size, sample_rate, bands)
        heard = _levels(made[: len(samples)], size, sample_rate, bands)
        differences.append(np.abs(wanted - heard).mean())
    return float(np.mean(differences))


def _levels(samples: Frames, size: int, sample_rate: int, bands: int) -> Floats:
    """Decibels (F, C, bands) above what is not heard."""
    transform = Transform(size)
    spectra = transform.at(samples, np.arange(0, len(samples), size // OVERLAP))
    top = np.log1p(sample_rate / 2 / _MEL)
    hertz = _MEL * np.expm1(np.arange(bands) * top / bands)
    edges = np.unique(np.rint(hertz * size / sample_rate).astype(int))
    powers = np.add.reduceat(spectra.real**2 + spectra.imag**2, edges, -1)
    least = powers.max(initial=0) * 10 ** (-_RANGE / 10) + 1e-12
    return np.asarray(10 * np.log10(powers + least))
