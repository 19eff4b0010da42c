"""A critically sampled filter bank: sound as K bands, of which each has every K-th sample.

Its filters are a low-pass prototype that cosines move to the middle of each band (Koilpillai and
Vaidyanathan, "Cosine-modulated FIR filter banks", 1992). What leaks from a band into the next one
is cancelled when they are joined: sound comes back within -60 dB, 15 K samples later.
"""

from collections.abc import Callable

import numpy as np

from seqkit.data.sound import Frames
from seqkit.symbols import Floats

_TAPS = 16  # frames of K samples that a filter sees
_CUTOFF, _BETA = 0.56589, 9.0  # of the prototype, in bands, and its Kaiser window: -64 dB of error
_AT_ONCE = 4096  # frames, which stay in a processor's cache


def delay_of(bands: int) -> int:
    """Samples by which sound that is split and joined comes later."""
    return (_TAPS - 1) * bands if bands > 1 else 0


def splitter(bands: int, channels: int) -> Callable[[Frames], Frames]:
    """A function that gives bands (n, K, C) of samples (n K, C) that come in pieces of any length.

    What does not fill a frame of K samples is kept for the next piece.
    """
    kept = np.zeros((0, channels), np.float32)
    split = _filter(_analysis(bands), channels)

    def split_piece(frames: Frames) -> Frames:
        nonlocal kept
        known = np.concatenate([kept, frames])
        whole = len(known) // bands * bands
        kept = known[whole:]
        return split(known[:whole].reshape(-1, bands, channels))

    return split_piece


def joiner(bands: int, channels: int) -> Callable[[Frames], Frames]:
    """A function that gives samples (n K, C) of bands (n, K, C) that come in pieces."""
    join = _filter(synthesis(bands), channels)
    return lambda rows: join(rows).reshape(-1, channels)


def synthesis(bands: int) -> Floats:
    """What each value of a band adds to the samples of a frame, (16, K bands, K samples).

    The oldest of the 16 frames that are heard in one comes first.
    """
    filters = bands * _filters(bands, -1).reshape(bands, _TAPS, bands)
    return filters.transpose(1, 0, 2)[::-1]


def _analysis(bands: int) -> Floats:
    """What each sample of the latest 16 frames adds to the bands, (16, K samples, K bands)."""
    return _filters(bands, 1)[:, ::-1].reshape(bands, _TAPS, bands).transpose(1, 2, 0)


def _filters(bands: int, sign: int) -> Floats:
    """The impulse responses (K, 16 K) of all bands: to split if the sign is 1, to join if -1."""
    size = _TAPS * bands
    place = np.arange(size) - (size - 1) / 2
    window = np.i0(_BETA * np.sqrt(1 - (2 * place / size) ** 2)) / np.i0(_BETA)
    prototype = _CUTOFF / bands * np.sinc(_CUTOFF / bands * place) * window
    band = np.arange(bands)[:, None]
    phase = sign * (-1.0) ** band * np.pi / 4
    return np.asarray(2 * prototype * np.cos((2 * band + 1) * np.pi / (2 * bands) * place + phase))


def _filter(weights: Floats, channels: int) -> Callable[[Frames], Frames]:
    """A function from rows (n, K, C), before which there are zeros, to such rows, for (16, K, K).

    Sums are taken in the same order however the rows are cut, so pieces are the whole to the bit.
    """
    before = np.zeros((_TAPS - 1, weights.shape[1], channels))

    def filtered(rows: Frames) -> Frames:
        nonlocal before
        seen = np.concatenate([before, rows])
        before = seen[len(rows) :]
        sums = np.zeros((*rows.shape[1:], len(rows)))
        for begin in range(0, len(rows), _AT_ONCE):
            part = sums[..., begin : begin + _AT_ONCE]
            size = part.shape[-1]
            columns = seen[begin : begin + size + _TAPS - 1].transpose(1, 2, 0).copy()
            for place, of_columns in enumerate(weights):
                for column, shares in zip(columns, of_columns, strict=True):
                    part += shares[:, None, None] * column[:, place : place + size]
        return np.ascontiguousarray(sums.transpose(2, 0, 1), np.float32)

    return filtered
