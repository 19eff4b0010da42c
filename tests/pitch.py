"""Which notes of a scale a wave has: the check that output is heard as the étude's notes."""

import numpy as np

from seqkit.data.sound import Wave

_LOWEST = 40  # hertz


def on_scale(
    wave: Wave, sample_rate: int, scale: tuple[float, ...], cents: float = 30
) -> tuple[float, int]:
    """The share of frames whose strongest peak is within `cents` of a note of the scale, and how
    many different notes of it were found in at least two frames."""
    found = pitches(wave, sample_rate)
    distance = np.abs(1200 * np.log2(found[:, None] / np.asarray(scale)))
    near = distance.min(1) <= cents
    notes = np.bincount(distance.argmin(1)[near], minlength=len(scale))
    return float(near.mean()), int((notes >= 2).sum())


def pitches(wave: Wave, sample_rate: int, seconds: float = 0.125) -> np.ndarray:
    """The frequency in hertz of the strongest spectral peak of every frame (frames,).

    Frames overlap by half; the peak of the Hann-windowed spectrum is placed by a parabola through
    its logarithm (J. O. Smith, "Spectral Audio Signal Processing").
    """
    size = round(seconds * sample_rate)
    if len(wave) < size:
        return np.zeros(0)
    frames = np.lib.stride_tricks.sliding_window_view(wave, size)[:: size // 2]
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
    return np.asarray((peak + offset) * sample_rate / length)
