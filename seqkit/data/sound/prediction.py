"""A linear prediction of sound: the next sample as a weighted sum of those before it."""

import numpy as np
import numpy.typing as npt

from seqkit.data.sound import Wave
from seqkit.symbols import Floats, Symbols

_AROUND = 1.5  # frames before and after one that count as well
_OF_ALL = 0.3  # frames of the whole sound that are added to those of a code
_LEAST = 1e-6  # of the power: what keeps the equations solvable
_AT_ONCE = 4096  # frames


def learn(wave: Wave, noise: Floats, codes: Symbols, hop: int, size: int, count: int) -> Floats:
    """The weights (C, K), C = `size` and K = `count`, that predict the frames of each code best.

    The latest sample's weight is the last. Row 0, and that of a code without frames, is of the
    whole sound.

    The autocorrelation method (Makhoul, "Linear prediction: a tutorial review", 1975), for a past
    that has white noise, as Wiener's filter: where there is less noise other weights would be
    better, and where there is more these are.

    Args:
        wave: (N,).
        noise: the power of the noise that each sample may have, (N,).
        codes: of its frames, (F,), 0 to C - 1.
        hop: samples of a frame; the last one may be shorter.
    """
    around = round(_AROUND * hop)
    length = hop + 2 * around
    padded = np.pad(wave.astype(np.float64), (around, len(codes) * hop - len(wave) + around))
    frames = np.lib.stride_tricks.sliding_window_view(padded, length)[::hop]
    powers = np.add.reduceat(noise.astype(np.float64), np.arange(0, len(wave), hop)) / hop
    window = np.hanning(length)
    window /= np.sqrt(np.square(window).sum())
    points = 1 << (length + count).bit_length()
    sums, noises, counts = np.zeros((size, count + 1)), np.zeros(size), np.zeros(size)
    for begin in range(0, len(codes), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        spectra = np.square(np.abs(np.fft.rfft(frames[part] * window, points)))
        np.add.at(sums, codes[part], np.fft.irfft(spectra, points)[:, : count + 1])
        np.add.at(noises, codes[part], powers[part])
        np.add.at(counts, codes[part], 1)
    whole, of_whole = sums.sum(0) / len(codes), noises.sum() / len(codes)
    sums[0], noises[0], counts[0] = whole, of_whole, 1
    # As loud as the frames of the code are, so that both count alike.
    louder = np.where(counts > 0, sums[:, 0] / np.maximum(counts, 1) / max(whole[0], _LEAST), 1)
    share = (_OF_ALL * louder)[:, None]
    means = (sums + share * whole) / (counts + _OF_ALL)[:, None]
    means_of_noise = (noises + share[:, 0] * of_whole) / (counts + _OF_ALL)
    return _solved(means, means_of_noise)


def _solved(lags: npt.NDArray[np.float64], noise: npt.NDArray[np.float64]) -> Floats:
    """Weights (C, K) for autocorrelations (C, K + 1) and powers of noise (C,).

    Durbin's recursion (1960) for all codes at once: K short sums in place of C systems of
    equations, for which NumPy's BLAS would take a thread for every core each time.
    """
    error = lags[:, 0] + noise + _LEAST * lags[:, 0] + np.finfo(np.float32).tiny
    weights = np.zeros((len(lags), 0))  # the oldest sample's weight first, as `lags` run backwards
    for count in range(lags.shape[1] - 1):
        missing = lags[:, count + 1] - (weights * lags[:, 1 : count + 1]).sum(1)
        last = (missing / error)[:, None]
        weights = np.concatenate([last, weights - last * weights[:, ::-1]], 1)
        error *= 1 - np.square(last[:, 0])
    return weights.astype(np.float32)
