"""Resampling: band-limited interpolation with a sinc under a Hann window.

J. O. Smith, "Digital Audio Resampling"; torchaudio's `sinc_interp_hann`. At `in` to `out` samples,
in lowest terms, the filter has `out` phases, and a table of them is convolved with the wave.
"""

import functools
import math
from collections.abc import Iterable, Iterator

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from seqkit.data.sound import Frames, Wave
from seqkit.symbols import Floats

Filter = tuple[int, float]
"""Zero crossings of a sinc on each side; its corner as a share of the lower Nyquist frequency."""
_USUAL: Filter = (16, 0.97)
STEEP: Filter = (64, 0.99)
"""What it leaves above the Nyquist frequency is not heard; it is four times as slow."""
_LARGEST_TABLE = 1 << 24  # entries; rates without a common divisor would need gigabytes
_TAPS = 1 << 20  # factors of the filter that are computed at a time without a table


def resampled(
    blocks: Iterable[Frames], rate: int, new_rate: int, channels: int = 1
) -> Iterator[Frames]:
    """Frames that come in blocks (n, C), at another rate, both in hertz."""
    resampler = Resampler(rate, new_rate, channels)
    for block in blocks:
        yield resampler.convert(block)
    yield resampler.convert(np.zeros((0, channels), np.float32), last=True)


def resample(wave: Wave, rate: int, new_rate: int, shape: Filter = _USUAL) -> Wave:
    """A whole wave (N,) at another sample rate, both in hertz."""
    return Resampler(rate, new_rate, shape=shape).convert(wave[:, None], last=True)[:, 0]


class Resampler:
    """Resamples frames (n, C) that come in pieces, each channel by itself.

    The pieces that come out are those of the resampled whole, ceil(N * new_rate / rate) frames,
    wherever it was cut. Only as many frames are kept as the filter is long.
    """

    def __init__(self, rate: int, new_rate: int, channels: int = 1, shape: Filter = _USUAL) -> None:
        """Rates in hertz."""
        common = math.gcd(rate, new_rate)
        self._in, self._out = rate // common, new_rate // common
        # Zero crossings of the sinc per input sample, and input samples on each side of an output.
        self._zeros, self._corner = shape
        self._scale = min(1.0, self._out / self._in) * self._corner
        self._width = math.ceil(self._zeros / self._scale)
        # Pieces are cut at multiples of `in`, where an output sample falls on an input sample.
        self._context = self._width // self._in + 2
        self._kept = np.zeros((0, channels), np.float32)
        self._first = 0  # the first group of `in` frames that is kept
        self._done = 0  # groups that have been converted
        self._read = 0

    def convert(self, piece: Frames, last: bool = False) -> Frames:
        """Take the next frames (n, C); return the new ones that are settled, all after the last."""
        if self._in == self._out:
            return piece
        self._read += len(piece)
        self._kept = np.concatenate([self._kept, piece])
        ready = self._read // self._in - self._context
        if not last and ready <= self._done:
            return np.zeros_like(piece[:0])
        whole = np.stack([*map(self._whole, self._kept.T)], 1)
        new: Frames = whole[(self._done - self._first) * self._out :]
        if last:
            return new
        new = new[: (ready - self._done) * self._out]
        keep = max(ready - self._context, 0)
        self._kept = self._kept[(keep - self._first) * self._in :]
        self._first, self._done = keep, ready
        return new

    @functools.cached_property
    def _filters(self) -> Floats:
        """The table of the filter's phases, (2 * width + in, out)."""
        places = np.arange(-self._width, self._width + self._in) / self._in
        phases = np.arange(self._out, dtype=np.float32) / np.float32(self._out)  # as torchaudio
        return self._taps((places[:, None] - phases) * self._in).astype(np.float32)

    def _taps(self, times: Floats) -> Floats:
        """The filter at times in samples of the input."""
        t = times * self._scale
        window = np.cos(np.clip(t / self._zeros, -1, 1) * np.pi / 2) ** 2
        return np.asarray(np.sinc(t) * window * self._scale)

    def _whole(self, wave: Wave) -> Wave:
        """The resampling of a wave (n,), with silence around it."""
        count = -(-len(wave) * self._out // self._in)
        if self._out * (2 * self._width + self._in) > _LARGEST_TABLE:
            return self._interpolated(wave, count)
        filters = self._filters
        padded = np.pad(wave, (self._width, self._width + self._in))
        groups = sliding_window_view(padded, len(filters))[:: self._in]
        rows = max(_TAPS // len(filters), 1)
        blocks = [groups[at : at + rows] @ filters for at in range(0, len(groups), rows)]
        return np.concatenate(blocks).reshape(-1)[:count].astype(np.float32, copy=False)

    def _interpolated(self, wave: Wave, count: int) -> Wave:
        """The same by a filter that is computed anew for every output sample, (count,)."""
        offsets = np.arange(-self._width, self._width + 1)
        padded = np.pad(wave, self._width + 1).astype(np.float64)
        blocks = [np.zeros(0)]
        rows = max(_TAPS // offsets.size, 1)
        for begin in range(0, count, rows):
            scaled = np.arange(begin, min(begin + rows, count), dtype=np.int64) * self._in
            centre, phase = scaled // self._out, scaled % self._out / self._out
            taps = self._taps(offsets - phase[:, None])
            blocks.append((padded[centre[:, None] + offsets + self._width + 1] * taps).sum(1))
        return np.concatenate(blocks).astype(np.float32)
