"""Resampling: sounds that come in pieces by torchaudio, a whole wave by its Fourier transform."""

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction

import numpy as np

from seqkit.data.sound import Frames, Wave
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.threads import shared_cores

_ZEROS = 16  # zero crossings of the sinc on each side
_CORNER = 0.97  # of the lower Nyquist frequency
_LARGEST = 3000  # of the denominator of a ratio, which is rounded for odd rates


def resampled(
    blocks: Iterable[Frames], rate: int, new_rate: int, channels: int = 1
) -> Iterator[Frames]:
    """Frames that come in blocks (n, C), at another rate, both in hertz."""
    resampler = Resampler(rate, new_rate, channels)
    for block in blocks:
        yield resampler.convert(block)
    yield resampler.convert(np.zeros((0, channels), np.float32), last=True)


def resample(wave: Wave, rate: int, new_rate: int) -> Wave:
    """A whole wave (N,) at another rate, both in hertz, as if it went round and round."""
    if rate == new_rate or not len(wave):
        return wave
    count = -(-len(wave) * new_rate // rate)
    new = np.fft.irfft(np.fft.rfft(wave), count) * (count / len(wave))
    return new.astype(np.float32)


class Resampler:
    """Resamples frames (n, C) that come in pieces by a sinc under a Hann window.

    The pieces that come out are those of the resampled whole, ceil(N * new_rate / rate) frames,
    wherever it was cut. Only as many frames are kept as the filter is long.
    """

    def __init__(self, rate: int, new_rate: int, channels: int = 1) -> None:
        """Rates in hertz. Raises ConfigError if torchaudio does not load."""
        ratio = Fraction(new_rate, rate).limit_denominator(_LARGEST)
        self._out, self._in = ratio.as_integer_ratio()  # frames of each group, new and old
        if self._out == self._in:
            return
        try:
            from torchaudio.transforms import Resample  # loads PyTorch
        except (ImportError, OSError, RuntimeError) as error:
            fault = f"{rate} Hz cannot become {new_rate} Hz: torchaudio does not load: {error}"
            raise ConfigError(fault) from error
        self._filter = Resample(self._in, self._out, lowpass_filter_width=_ZEROS, rolloff=_CORNER)
        self._context = math.ceil(_ZEROS / (_CORNER * min(self._in, self._out)))  # groups on a side
        self._kept = np.zeros((self._context * self._in, channels), np.float32)
        self._read = self._made = 0

    def convert(self, piece: Frames, last: bool = False) -> Frames:
        """Take the next frames (n, C); return the new ones that are settled, all after the last."""
        if self._in == self._out:
            return piece
        import torch

        silence = np.zeros((last * (self._context + 1) * self._in, piece.shape[1]), np.float32)
        kept = np.concatenate([self._kept, piece, silence])
        settled = max(len(kept) // self._in - 2 * self._context, 0)
        self._kept = kept[settled * self._in :]
        self._read += len(piece)
        if not settled:
            return np.zeros_like(piece[:0])
        with shared_cores(exactly=1):  # more threads are slower on a busy machine
            new: Frames = self._filter(torch.from_numpy(kept.T.copy())).numpy().T
        new = new[self._context * self._out :][: settled * self._out]
        self._made += len(new)
        return new[: len(new) - last * (self._made + self._read * -self._out // self._in)]
