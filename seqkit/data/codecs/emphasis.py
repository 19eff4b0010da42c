"""Pre-emphasis: what changes from sample to sample is quantised, so that highs are not drowned.

    y_t = x_t - a x_{t-1}        before quantising
    x_t = y_t + a x_{t-1}        after it

Most sounds fall towards high frequencies. Whitened, they need fewer levels, and what the quantiser
adds comes out lower where they are quiet: it falls as they do. A sound that does not fall is harmed
by it, so a is chosen by what a quantiser would cost.
"""

from itertools import accumulate

import numpy as np

from seqkit.data.sound import Frames
from seqkit.symbols import Floats

CHOICES = (0.0, 0.3, 0.5, 0.7, 0.85, 0.95)
"""What `data.emphasis=auto` chooses from; 0 is none."""


def emphasised(frames: Frames, share: float | Floats, before: Frames) -> Frames:
    """y of samples (n, C), after those before them (1, C); a is `share`, one or one each (C,)."""
    earlier: Frames = np.concatenate([before, frames])[: len(frames)]
    return np.asarray(frames - np.asarray(share, np.float32) * earlier, np.float32)


def undone(frames: Frames, share: float | Floats, before: Floats) -> Floats:
    """x of y (n, C), in float64, so that it is the same in pieces; x before is `before` (1, C)."""
    shares = np.broadcast_to(share, frames.shape[1:]).tolist()
    columns = zip(frames.T.tolist(), shares, before[0].tolist(), strict=True)
    return np.array([_summed(*column) for column in columns], np.float64).T


def _summed(values: list[float], share: float, before: float) -> list[float]:
    """The sums of values, before each of which the last one fades to a share."""
    sums = accumulate(values, lambda last, value: value + share * last, initial=before)
    return [*sums][1:]
