"""Which notes of a scale a wave has: the check that output is heard as the étude's notes."""

import numpy as np

from seqkit.data.sound import Wave
from seqkit.evaluation.spectral import pitches


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
