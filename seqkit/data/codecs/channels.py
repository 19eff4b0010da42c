"""Two channels of which each band is turned by an angle a:

    first  = cos(a) left + sin(a) right
    second = cos(a) right - sin(a) left

Below 4 kHz the angle leaves them nothing in common (Karhunen and Loève's transform). Above, one
value is all that is kept of a band, and the angle gives it back to left and right in proportion to
their loudness (intensity stereo, as in MP3): of channels with nothing in common, 3 dB less.
"""

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs.filter_bank import splitter
from seqkit.data.sound import Frames
from seqkit.symbols import Floats

_TOLD_APART = 4000  # hertz
_OPPOSED = 0.5  # correlation below the negative of which a mix to mono would lose most


def merged(bands: int, sample_rate: int) -> npt.NDArray[np.bool_]:
    """Which of K bands have one value for both channels, (K,)."""
    return np.arange(bands) * sample_rate >= 2 * bands * _TOLD_APART


def angles(sums: Floats, merged: npt.NDArray[np.bool_]) -> list[float]:
    """a of each band, (K,), of the sums of left², right² and left x right, (3, K)."""
    left, right, both = sums
    apart = np.arctan2(2 * both, left - right) / 2
    opposed = both < -_OPPOSED * np.sqrt(left * right)
    louder = np.arctan2(np.sqrt(right), np.sqrt(left)) * np.where(opposed, -1, 1)
    found: list[float] = np.where(merged, louder, apart).tolist()
    return found


def turns(angles: Sequence[float]) -> Floats | None:
    """The matrices (K, 2, 2) that turn by angles (K,); transposed, they turn back."""
    if not any(angles):
        return None
    cos, sin = np.cos(angles), np.sin(angles)
    return np.array([[cos, sin], [-sin, cos]]).transpose(2, 0, 1)


def turned(bands: Frames, turns: Floats | None) -> Frames:
    """Bands (n, K, C), whose two channels matrices turn, if there are any.

    Products of float64 are rounded one by one, so that a page gets the same.
    """
    return bands if turns is None else (bands[..., None, :] * turns).sum(-1)


def analysis(bands: int, channels: int, turns: Floats | None) -> Callable[[Frames], Frames]:
    """A function that gives values float32 (n, K C) of samples (n K, C), in pieces of any length.

    One band is the sound as it is.
    """
    if bands == 1:
        return lambda frames: frames
    split, columns = splitter(bands, channels), bands * channels

    def analyse(frames: Frames) -> Frames:
        values = turned(split(frames), turns)
        return values.reshape(len(values), columns).astype(np.float32, copy=False)

    return analyse
