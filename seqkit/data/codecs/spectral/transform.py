"""The short-time Fourier transform: Hann windows of N samples, one every R = N / 4 samples.

Frame t stands for the samples t R … (t + 1) R - 1, in the middle of its window, so that n samples
make ceil(n / R) frames. Silence is assumed before the first sample and after the last one.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from seqkit.data.sound import Frames, hann
from seqkit.symbols import Integers

OVERLAP = 4
_SQUARES = 1.5  # the sum of the squares of the windows that overlap in one sample

Spectra = npt.NDArray[np.complex64]
"""Frames by channels by bins (F, C, N / 2 + 1)."""
Precise = npt.NDArray[np.complexfloating]
"""The same in double precision."""
Hops = npt.NDArray[np.float64]
"""Sound as (n, C, R)."""
Rows = npt.NDArray[np.float32]
"""Numbers of frames, one row each."""


class Transform:
    """Of windows of `size` N, one every `hop` R; a frame has `bins`.

    before: samples by which a window begins before those that its frame stands for.
    """

    def __init__(self, size: int) -> None:
        """`size` is a multiple of 8."""
        self.size, self.hop, self.bins = size, size // OVERLAP, size // 2 + 1
        self.before = (size - self.hop) // 2
        # In double precision NumPy's transform of real numbers is the faster one.
        self._analysis = hann(size).astype(np.float64)
        self._synthesis = self._analysis / _SQUARES

    def forward(self, hops: npt.NDArray[np.floating]) -> Precise:
        """The frames (F, C, bins) of F + 3 hops."""
        frames = max(len(hops) - OVERLAP + 1, 0)
        pieces = [hops[place : place + frames] for place in range(OVERLAP)]
        windows: Hops = np.concatenate(pieces, -1) * self._analysis
        return np.fft.rfft(windows)

    def backward(self, spectra: Precise) -> Hops:
        """The F + 3 hops whose frames are nearest to (F, C, bins), if silence is around them."""
        frames = np.fft.irfft(spectra, self.size) * self._synthesis
        hops = np.zeros((len(spectra) + OVERLAP - 1, spectra.shape[1], self.hop))
        for place in range(OVERLAP):
            part = frames[..., place * self.hop : (place + 1) * self.hop]
            hops[place : place + len(spectra)] += part
        return hops

    def at(self, samples: Frames, places: Integers) -> Spectra:
        """The frames (F, C, bins) that stand for samples (n, C) from rising places (F,) on."""
        first, last = places[0] - self.before, places[-1] - self.before + self.size
        around = max(-first, 0), max(last - len(samples), 0)
        known = np.pad(samples[max(first, 0) : last], (around, (0, 0)))
        shown = (places - places[0])[:, None] + np.arange(self.size)
        windows = known[shown].transpose(0, 2, 1)
        return np.fft.rfft(windows * self._analysis).astype(np.complex64)

    def analyser(self, channels: int) -> Callable[[Frames, bool], Spectra]:
        """A function that gives the frames of samples (n, C) that come in pieces.

        It is told which piece is the last: zeros then fill up the last frame.
        """
        kept, count = np.zeros((self.before, channels), np.float32), 0

        def analyse(samples: Frames, last: bool) -> Spectra:
            nonlocal kept, count
            count += len(samples)
            after = self.size - self.hop - self.before
            missing = -count % self.hop + after if last else 0
            known = np.concatenate([kept, samples, np.zeros((missing, channels), np.float32)])
            whole = len(known) // self.hop * self.hop
            hops = known[:whole].reshape(-1, self.hop, channels).transpose(0, 2, 1)
            frames = self.forward(hops)
            kept = known[len(frames) * self.hop :]
            return frames.astype(np.complex64)

        return analyse
