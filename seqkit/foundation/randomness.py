"""Randomness as a function: what is drawn depends on named counters, not on what ran before.

A draw of generation is a function of (seed, stream, position): the same in any order, on any
device, in any batch and after any restart. `training.noise` draws so on the device.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

SEEDS = 10**9
"""That are drawn from where none is given: short enough to be typed."""
_WORDS = 4  # 64-bit words that Philox4x64 makes of one counter


def uniforms(seed: int, stream: int, position: int, count: int) -> npt.NDArray[np.float64]:
    """Draws `position` … `position + count - 1` of a stream, uniform in [0, 1).

    Philox4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) with
    the key (seed, stream): word i of the sequence gives draw i in its upper 53 bits.
    """
    return uniforms_of_streams(seed, [stream], position, count)[:, 0]


def uniforms_of_streams(
    seed: int, streams: Sequence[int], position: int, count: int
) -> npt.NDArray[np.float64]:
    """The draws (count, S) of S streams, each as `uniforms` has them."""
    block, skipped = divmod(position, _WORDS)
    # NumPy increments the counter before its first block, so it starts one block below.
    generator = np.random.Philox(key=[seed, 0], counter=(block - 1) % 2**256)
    begin: Any = generator.state
    words = np.empty((len(streams), count), np.uint64)
    for row, stream in zip(words, streams, strict=True):
        begin["state"]["key"][1] = stream
        generator.state = begin  # 3 us, where a new generator takes 20
        row[:] = generator.random_raw(skipped + count)[skipped:]
    return (words.T >> np.uint64(11)).astype(np.float64, order="C") * 2.0**-53
