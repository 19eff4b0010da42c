"""What symbols are, how they are stored, and what marks a place without one."""

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
