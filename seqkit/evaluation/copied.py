"""How much of a sound is copied: passages in which moments of the recording follow each other.

A moment of the sound stands where the recording's nearest one is, and wherever others are nearly as
near, but nowhere if none is within 6 dB. A passage is a run of moments that stand as far from each
other in the recording, each of them perhaps off by one. Moments that stand in many places, such as
those of noise or of silence, do not count as copied, nor do they end a passage.
"""

from typing import NamedTuple

import numpy as np

from seqkit.evaluation.hearing import MEL_BANDS, MOMENTS, Levels
from seqkit.evaluation.likeness import squares_apart
from seqkit.symbols import Flags, Integers

_NEARLY, _FAR = 1.0, 6.0  # decibels in a band
_MANY = 0.1  # of the recording
_LONG = 1.0  # seconds of a passage that counts as copied


class Copied(NamedTuple):
    """The longest passage in seconds, and the share of the sound in passages of over a second."""

    longest_passage: float
    in_passages: float

    @property
    def words(self) -> str:
        """What follows a verdict."""
        long = f"{self.in_passages:.0%} lies in passages over a second"
        return f"it copies {self.longest_passage:.1f} s at most in one piece; {long}"


def copied(sound: Levels, recording: Levels, stride: int) -> Copied:
    """What is copied: of all moments (n, 32) of a sound, from every `stride`-th one (m, 32)."""
    found = []
    for phase in range(min(stride, len(sound))):  # wherever the recording's moments begin
        apart = np.sqrt(squares_apart(sound[phase::stride], recording) / MEL_BANDS)
        stands = apart <= np.minimum(apart.min(1, keepdims=True) + _NEARLY, _FAR)
        counts = stands.mean(1) <= _MANY
        before, after = _passages(stands, counts), _passages(stands[::-1, ::-1], counts[::-1])
        lengths = (
            (before + after[::-1, ::-1] - counts[:, None] * (before > 0)).max(1) * stride / MOMENTS
        )
        found.append(Copied(float(lengths.max()), float((counts & (lengths > _LONG)).mean())))
    return max(found)


def _passages(stands: Flags, counts: Flags) -> Integers:
    """How many moments that count are in the passage that ends with each, (n, m)."""
    wide, lengths, rows = np.pad(stands, ((0, 0), (1, 1))), np.zeros(stands.shape[1], np.int64), []
    near = wide[:, 2:] | wide[:, 1:-1] | wide[:, :-2]
    for here, one in zip(near, counts, strict=True):
        lengths = np.where(here, one + np.pad(lengths, (1, 0))[:-1], 0)
        rows.append(lengths)
    return np.stack(rows)
