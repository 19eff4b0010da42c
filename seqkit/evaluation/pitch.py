"""Which pitches a sound has, and whether they are those of a recording."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from seqkit.data.sound import Wave

_LOWEST = 40  # hertz
_SECONDS = 0.125  # of a frame
_CENTS = 30  # within which two pitches are the same
_SHARE = 0.01  # of the recording's frames that a pitch of its own has; and two of them
_QUIET = 40  # decibels below its loudest frame at which a frame is not heard
_BLOCK = 256  # frames that are computed at a time


class Pitches:
    """The pitches of a recording, kept to hold sounds against."""

    def __init__(self, recording: Wave, sample_rate: int) -> None:
        """Of samples (N,) at a rate in hertz."""
        self._rate = sample_rate
        self._cents = np.sort(_cents(recording, sample_rate))

    def share(self, wave: Wave) -> float:
        """The share of the frames of a wave (N,), at the same rate, that have one of the pitches.

        That is a pitch within 30 cents of which the recording has at least two of its frames, and
        one in a hundred. Frames 40 dB below the loudest one are left out, of both. A recording that
        glides through all pitches, as a voice does, has noise on its pitches, too.
        """
        own, found = self._cents, _cents(wave, self._rate)
        if not len(found):
            return 0.0
        near = np.searchsorted(own, found + _CENTS) - np.searchsorted(own, found - _CENTS)
        return float((near >= max(2, _SHARE * len(own))).mean())


def pitches(wave: Wave, sample_rate: int, seconds: float = _SECONDS) -> npt.NDArray[np.float64]:
    """The frequency in hertz of the strongest spectral peak of every frame (frames,).

    Frames overlap by half; the peak of the Hann-windowed spectrum is placed by a parabola through
    its logarithm (J. O. Smith, "Spectral Audio Signal Processing").
    """
    blocks = _blocks(wave, round(seconds * sample_rate))
    return np.concatenate([np.zeros(0), *(_hertz(frames, sample_rate) for frames in blocks)])


def _cents(wave: Wave, sample_rate: int) -> npt.NDArray[np.float64]:
    """The pitches of the frames that are heard, in cents."""
    blocks = _blocks(wave, round(_SECONDS * sample_rate))
    power = np.concatenate([np.zeros(0), *(np.square(frames).mean(1) for frames in blocks)])
    heard = (power > 0) & (power >= power.max(initial=0) * 10 ** (-_QUIET / 10))
    found: npt.NDArray[np.float64] = 1200 * np.log2(pitches(wave, sample_rate)[heard])
    return found


def _blocks(wave: Wave, size: int) -> Iterator[npt.NDArray[np.float64]]:
    """Frames (n, size) of a wave, some at a time; none if it is shorter than one."""
    if len(wave) < size:
        return
    frames = np.lib.stride_tricks.sliding_window_view(wave, size)[:: size // 2]
    for begin in range(0, len(frames), _BLOCK):
        yield frames[begin : begin + _BLOCK].astype(np.float64)


def _hertz(frames: npt.NDArray[np.float64], sample_rate: int) -> npt.NDArray[np.float64]:
    size = frames.shape[1]
    length = 8 * size
    spectrum = np.abs(np.fft.rfft(frames * np.hanning(size), length))
    spectrum[:, : int(_LOWEST * length / sample_rate)] = 0
    peak = np.clip(spectrum.argmax(1), 1, spectrum.shape[1] - 2)
    low, mid, high = (
        np.log(np.take_along_axis(spectrum, (peak + shift)[:, None], 1)[:, 0] + 1e-9)
        for shift in (-1, 0, 1)
    )
    curve = low - 2 * mid + high
    offset = np.where(curve < 0, 0.5 * (low - high) / np.where(curve < 0, curve, 1), 0)
    hertz: npt.NDArray[np.float64] = (peak + offset) * sample_rate / length
    return hertz
