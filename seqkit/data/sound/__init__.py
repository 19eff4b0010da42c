"""Sound: as numbers, in files, in pictures."""

import numpy as np
import numpy.typing as npt

Wave = npt.NDArray[np.float32]
"""Samples (N,) of one channel, full scale being ±1."""
Frames = npt.NDArray[np.float32]
"""Samples (N, C) of all channels."""


def hann(size: int) -> Wave:
    """A periodic Hann window (size,)."""
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)).astype(np.float32)


def centred(wave: Wave) -> Wave:
    """A wave (N,) without its mean, which a recorder may add and nobody hears."""
    return wave - np.float32(wave.sum(dtype=float) / max(len(wave), 1))


def resample(wave: Wave, rate: int, new_rate: int) -> Wave:
    """A whole wave (N,) at another rate, both in hertz, as if it went round and round."""
    if rate == new_rate or not len(wave):
        return wave
    count = -(-len(wave) * new_rate // rate)
    new = np.fft.irfft(np.fft.rfft(wave), count) * (count / len(wave))
    return new.astype(np.float32)
