"""Sound: as numbers, in files, in pictures."""

from typing import Protocol

import numpy as np
import numpy.typing as npt

Wave = npt.NDArray[np.float32]
"""Samples (N,) of one channel, full scale being ±1."""
Frames = npt.NDArray[np.float32]
"""Samples (N, C) of all channels."""


class Samples(Protocol):
    """A wave (N,) in memory, or one whose samples are had where a slice asks for them."""

    def __len__(self) -> int: ...

    def __getitem__(self, places: slice, /) -> Wave: ...


def stretch(wave: Samples, begin: int, end: int) -> Wave:
    """The samples from `begin` to before `end`, beyond the wave those of silence."""
    first, last = max(begin, 0), min(end, len(wave))
    return np.pad(wave[first:last], (first - begin, end - last))


def hann(size: int) -> Wave:
    """A periodic Hann window (size,)."""
    return (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)).astype(np.float32)
