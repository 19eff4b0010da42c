"""A postfilter: turns down what lies far below the partials around it, as hiss does, and may make
all of a sound louder.

Of every frame (64 ms under the root of a Hann window, a quarter of that apart) let L be the level
of a bin in decibels, and E the highest one within a reach. The bin is turned down by

    min(24, slope max(0, E - L - onset))

decibels, each channel by itself. A short reach finds hiss between partials, a long one what lies
above a dark sound. That is the adaptive postfilter of speech codecs (Chen and Gersho, 1995), on
the spectrum in place of a filter.
"""

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from seqkit.data.sound import Frames
from seqkit.symbols import Floats

_MOST = 24.0  # decibels by which a bin is turned down
_FLOOR = 1e-9  # of the power of a bin: silence has a level, too
_FRAMES = 256  # that are computed at a time


@dataclass(frozen=True)
class Postfilter:
    """A postfilter; with a slope of 0 the spectrum stays as it is.

    slope: decibels by which a bin is turned down, for each that it lies lower.
    onset: decibels below the highest bin from which on that begins.
    reach: bins on each side among which that is, 1/64 kHz apart; a power of two.
    louder: decibels by which all is made louder.
    """

    slope: float = 0.0
    onset: float = 0.0
    reach: int = 16
    louder: float = 0.0

    def __post_init__(self) -> None:
        """Raises TypeError, ValueError for what is no postfilter."""
        powers = [1 << power for power in range(12)]
        in_range = 0 <= self.slope <= 100 and 0 <= self.onset <= 1000 and abs(self.louder) <= 100
        if not in_range or self.reach not in powers:
            raise ValueError(f"out of range: {self}")

    def filtered(self, frames: Frames, rate: int) -> Frames:
        """What becomes of a whole sound (N, C) at a rate in hertz."""
        return Filtering(self, rate, frames.shape[1]).convert(frames, last=True)

    def looped(self, frames: Frames, rate: int) -> Frames:
        """What becomes of a sound (N, C) that is played round and round: its ends still meet."""
        if not self.slope or not len(frames):
            return self.filtered(frames, rate)
        size = window_of(rate)
        made = self.filtered(np.pad(frames, ((2 * size, size), (0, 0)), mode="wrap"), rate)
        own, before = made[2 * size : -size], made[: 2 * size]
        # Frames do not recur where the loop does: its end fades into what is before its beginning.
        count = min(size, len(own))
        own[-count:] += np.linspace(0, 1, count)[:, None] * (before[-count:] - own[-count:])
        return own


OFF = Postfilter()


class Filtering:
    """A postfilter over frames (n, C) that come in pieces.

    What comes out is the same wherever they are cut, and as long, but up to a window later.
    """

    def __init__(self, postfilter: Postfilter, rate: int, channels: int) -> None:
        """At a rate in hertz."""
        size = window_of(rate)
        self._postfilter, self._hop = postfilter, size // 4
        self._factor = 10 ** (postfilter.louder / 20)
        self._window = np.sqrt(np.hanning(size + 1)[:-1])
        self._kept = np.zeros((size - self._hop, channels))  # begins with silence
        self._sums = self._kept.copy()
        self._read, self._given = 0, -len(self._kept)

    def convert(self, piece: Frames, last: bool = False) -> Frames:
        """Take the next frames (n, C); return the new ones that are settled, all after the last."""
        if not self._postfilter.slope:
            return piece * np.float32(self._factor) if self._postfilter.louder else piece
        hop, size, overlap = self._hop, len(self._window), len(self._sums)
        self._read += len(piece)
        silence = (-self._read % hop + overlap) * last
        self._kept = np.concatenate([self._kept, np.pad(piece, ((0, silence), (0, 0)))])
        count = max((len(self._kept) - overlap) // hop, 0)
        sums = np.pad(self._sums, ((0, count * hop), (0, 0)))
        for first in range(0, count, _FRAMES):
            end = min(first + _FRAMES, count) * hop + overlap
            windows = sliding_window_view(self._kept[first * hop : end], size, 0)[::hop]
            for place, made in enumerate(self._changed(windows), first):
                sums[place * hop : place * hop + size] += made.T
        begin, self._given = max(-self._given, 0), self._given + count * hop
        beyond = max(self._given - self._read, 0) if last else 0
        self._kept, self._sums = self._kept[count * hop :], sums[count * hop :]
        return (sums[begin : count * hop - beyond] * self._factor).astype(np.float32)

    def _changed(self, windows: Floats) -> Floats:
        """What is to be added up of windows (n, C, size)."""
        spectra = np.fft.rfft(windows * self._window)
        level = 10 * np.log10(np.square(np.abs(spectra)) + _FLOOR)
        reach = self._postfilter.reach
        highest = np.pad(level, ((0, 0), (0, 0), (reach, reach)), mode="edge")
        for apart in (*(1 << power for power in range(reach.bit_length())), 1):
            highest = np.maximum(highest[..., :-apart], highest[..., apart:])
        below = highest - level - self._postfilter.onset
        gains = 10 ** (np.clip(self._postfilter.slope * below, 0, _MOST) / -20)
        return np.asarray(np.fft.irfft(spectra * gains, windows.shape[-1]) * self._window / 2)


def window_of(rate: int) -> int:
    """Samples of a window: 64 for each kilohertz, of which there are whole ones."""
    return 64 * max(1, round(rate / 1000))
