"""What symbols are, how they are stored, what marks a place without one, and how they are drawn.

A draw is a function of (seed, stream, position), not of what ran before: the same in any order, on
any device, in any batch and after any restart. `training.noise` draws so on the device.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from seqkit.foundation.errors import ConfigError

Symbols = npt.NDArray[np.unsignedinteger[Any]]
"""Symbols as they are stored, (N,)."""
Integers = npt.NDArray[np.int64]
"""Symbols as they are computed with, and places among them."""
Floats = npt.NDArray[np.floating[Any]]
"""Logits, nats, draws and states: numbers of any floating type."""
Flags = npt.NDArray[np.bool_]
"""Which places are meant."""
NamedArrays = dict[str, npt.NDArray[Any]]
"""What a file of weights holds."""

IGNORED = -100
"""The target of a place without one: it counts in no loss (PyTorch's `ignore_index`)."""
SEEDS = 10**9
"""That are drawn from where none is given: short enough to be typed."""
_WORDS = 4  # 64-bit words that Philox4x64 makes of one counter


def symbol_dtype(size: int) -> np.dtype[Any]:
    """The narrowest unsigned integer that holds `size` different symbols."""
    return np.dtype(np.uint8 if size <= 2**8 else np.uint16 if size <= 2**16 else np.uint32)


def checked_symbols(symbols: npt.ArrayLike, size: int) -> Integers:
    """Symbols (N,) as they index a table of `size`. Raises ConfigError for anything else."""
    array = np.asarray(symbols)
    if not array.size:
        return np.zeros(0, np.int64)
    if not np.issubdtype(array.dtype, np.integer):
        raise ConfigError(f"symbols: expected integers (N,), got {array.dtype}")
    if array.min() < 0 or array.max() >= size:
        outside = array.min() if array.min() < 0 else array.max()
        raise ConfigError(f"symbols: {outside} is not one of the {size} that this codec knows")
    return array.astype(np.int64)


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
