"""Mel spectrograms."""

import math

import numpy as np
import numpy.typing as npt

from seqkit.data.sound import Wave

Decibels = npt.NDArray[np.float64]
"""A spectrogram (M, frames)."""


def to_hertz(share: npt.NDArray[np.float64], sample_rate: int) -> npt.NDArray[np.float64]:
    """Hertz (n,) at shares (n,), 0 to 1, of the mel scale from 0 to half the sample rate.

    mel = 2595 log10(1 + f / 700) (O'Shaughnessy, 1987).
    """
    top = np.log10(1 + sample_rate / 2 / 700)
    hertz: npt.NDArray[np.float64] = 700 * (10 ** (share * top) - 1)
    return hertz


def log_mel(wave: Wave, sample_rate: int) -> Decibels:
    """The mel spectrogram (M, frames) of a wave (N,), in decibels.

    Frames are 30 to 60 ms long and overlap by three quarters; M is an eighth of their samples.
    """
    size = 1 << max(6, math.ceil(math.log2(sample_rate * 0.03)))
    count = size // 8
    padded = np.pad(wave.astype(np.float64), size // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[:: size // 4]
    power = np.abs(np.fft.rfft(frames * np.hanning(size))) ** 2
    edges = to_hertz(np.linspace(0, 1, count + 2), sample_rate)[:, None]
    hertz = np.fft.rfftfreq(size, 1 / sample_rate)
    # The lowest triangles would fall between two lines of the spectrum.
    width = np.maximum(np.diff(edges, axis=0), sample_rate / size)
    rising = (hertz - edges[1:-1]) / width[:-1] + 1
    falling = (edges[1:-1] - hertz) / width[1:] + 1
    filters = np.maximum(np.minimum(rising, falling), 0)
    decibels: Decibels = 10 * np.log10(filters @ power.T + 1e-10)
    return decibels
