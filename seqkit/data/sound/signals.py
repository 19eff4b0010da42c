"""Sound as numbers: resampling, the mu-law curve, mel spectrograms.

torchaudio computes them, and is imported here and nowhere else. Where it cannot be imported (it is
built for one CUDA version; see pyproject.toml) the same equations are evaluated directly.
"""

import functools
import importlib
import math
from types import ModuleType

import numpy as np
import numpy.typing as npt
import torch

Wave = npt.NDArray[np.float32]

_ZEROS = 16  # zero crossings of the sinc on each side
_ROLLOFF = 0.97  # the filter's corner, as a share of the lower Nyquist frequency
_LARGEST_TABLE = 1 << 24  # entries; rates with no common divisor would need gigabytes
_ROWS = 1 << 14  # output samples computed at a time without a table


@functools.cache
def torchaudio() -> ModuleType | None:
    """The library, or None where its import fails."""
    try:
        return importlib.import_module("torchaudio")
    except (ImportError, OSError, RuntimeError):
        return None


def mu_law_encode(wave: Wave, levels: int) -> npt.NDArray[np.int64]:
    """The levels 0 … levels-1 of a wave within [-1, 1] (checked by the caller).

    sign(x) ln(1 + mu |x|) / ln(1 + mu), mu = levels - 1, rounded to equal steps (ITU-T G.711).
    """
    x = torch.from_numpy(np.ascontiguousarray(wave))
    if library := torchaudio():
        encoded: npt.NDArray[np.int64] = library.functional.mu_law_encoding(x, levels).numpy()
        return encoded
    mu = torch.tensor(levels - 1.0)
    curve = torch.sign(x) * torch.log1p(mu * torch.abs(x)) / torch.log1p(mu)
    return ((curve + 1) / 2 * mu + 0.5).to(torch.int64).numpy()


def mu_law_decode(symbols: npt.NDArray[np.int64], levels: int) -> Wave:
    """The values, float32 within [-1, 1], of mu-law levels."""
    y = torch.from_numpy(symbols)
    if library := torchaudio():
        decoded: Wave = library.functional.mu_law_decoding(y, levels).numpy()
        return decoded
    mu = torch.tensor(levels - 1.0)
    curve = y.float() / mu * 2 - 1
    wave = torch.sign(curve) * (torch.exp(torch.abs(curve) * torch.log1p(mu)) - 1) / mu
    return wave.numpy()


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


def mel_hertz(share: npt.NDArray[np.float64], sample_rate: int) -> npt.NDArray[np.float64]:
    """The frequency at a share (0 to 1) of the mel scale up to half the sample rate.

    mel = 2595 log10(1 + f / 700) (O'Shaughnessy, 1987).
    """
    top = np.log10(1 + sample_rate / 2 / 700)
    hertz: npt.NDArray[np.float64] = 700 * (10 ** (share * top) - 1)
    return hertz


def log_mel(wave: Wave, sample_rate: int) -> npt.NDArray[np.float64]:
    """The mel spectrogram (M, frames) of a wave (N,), in decibels; M follows the sample rate."""
    size = 1 << max(6, math.ceil(math.log2(sample_rate * 0.03)))
    count = size // 8
    padded = np.pad(wave.astype(np.float64), size // 2)
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[:: size // 4]
    power = np.abs(np.fft.rfft(frames * np.hanning(size))) ** 2
    edges = mel_hertz(np.linspace(0, 1, count + 2), sample_rate)[:, None]
    hertz = np.fft.rfftfreq(size, 1 / sample_rate)
    # The lowest triangles are narrower than the distance of two lines of the spectrum.
    width = np.maximum(np.diff(edges, axis=0), sample_rate / size)
    rising = (hertz - edges[1:-1]) / width[:-1] + 1
    falling = (edges[1:-1] - hertz) / width[1:] + 1
    filters = np.maximum(np.minimum(rising, falling), 0)
    decibels: npt.NDArray[np.float64] = 10 * np.log10(filters @ power.T + 1e-10)
    return decibels
