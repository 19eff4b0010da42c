"""Another sample rate: band-limited interpolation."""

import math

import numpy as np
import torch

from seqkit.data.sound import Wave
from seqkit.data.sound.torchaudio_import import torchaudio

_ZEROS = 16  # zero crossings of the sinc on each side
_ROLLOFF = 0.97  # the filter's corner, as a share of the lower Nyquist frequency
_LARGEST_TABLE = 1 << 24  # entries; rates with no common divisor would need gigabytes
_ROWS = 1 << 14  # output samples computed at a time without a table


class Resampler:
    """Band-limited interpolation of a wave that comes in pieces.

    A sinc under a Hann window (J. O. Smith, "Digital Audio Resampling"), torchaudio's
    `sinc_interp_hann`. What comes out does not depend on where the pieces were cut: it is the
    resampled whole, of ceil(N * new_rate / rate) samples.
    """

    def __init__(self, rate: int, new_rate: int) -> None:
        """Both in hertz."""
        common = math.gcd(rate, new_rate)
        self._in, self._out = rate // common, new_rate // common
        # A sample that comes out depends on this many that come in, on each side.
        self._scale = min(1.0, new_rate / rate) * _ROLLOFF
        self._width = math.ceil(_ZEROS / self._scale)
        # Pieces are cut at multiples of `in`, at each of which the output has a sample, too.
        self._context = self._width // self._in + 2
        self._table = None
        library = torchaudio()
        if library and self._out * (2 * self._width + self._in) <= _LARGEST_TABLE:
            self._table = library.transforms.Resample(
                self._in, self._out, lowpass_filter_width=_ZEROS, rolloff=_ROLLOFF
            )
        self._kept = np.zeros(0, np.float32)
        self._first = 0  # of the groups of `in` samples that are kept
        self._done = 0  # groups that were converted
        self._read = 0

    def convert(self, piece: Wave, last: bool = False) -> Wave:
        """What can be told of the new wave after another piece; all of it after the last."""
        if self._in == self._out:
            return piece
        self._read += piece.size
        self._kept = np.concatenate([self._kept, piece])
        ready = self._read // self._in - self._context
        if not last and ready <= self._done:
            return np.zeros(0, np.float32)
        new = self._resample(self._kept)[(self._done - self._first) * self._out :]
        if last:
            return new
        new = new[: (ready - self._done) * self._out]
        keep = max(ready - self._context, 0)
        self._kept = self._kept[(keep - self._first) * self._in :]
        self._first, self._done = keep, ready
        return new

    def _resample(self, wave: Wave) -> Wave:
        """A whole wave, with silence around it."""
        if self._table is not None:
            with torch.inference_mode():
                resampled: Wave = self._table(torch.from_numpy(wave)).numpy()
            return resampled
        count = -(-wave.size * self._out // self._in)
        padded = np.pad(wave, self._width + 1).astype(np.float64)
        offsets = np.arange(-self._width, self._width + 1)
        blocks = []
        for begin in range(0, count, _ROWS):
            scaled = np.arange(begin, min(begin + _ROWS, count), dtype=np.int64) * self._in
            centre, phase = scaled // self._out, scaled % self._out / self._out
            t = (offsets - phase[:, None]) * self._scale
            window = np.cos(np.clip(t / _ZEROS, -1, 1) * np.pi / 2) ** 2
            taps = padded[centre[:, None] + offsets + self._width + 1]
            blocks.append((np.sinc(t) * window * taps).sum(1) * self._scale)
        return np.concatenate(blocks or [np.zeros(0)]).astype(np.float32)


def resample(wave: Wave, rate: int, new_rate: int) -> Wave:
    """A whole wave (N,) at another sample rate."""
    return Resampler(rate, new_rate).convert(wave, last=True)
