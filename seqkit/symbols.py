"""What symbols are, how they are stored, and what marks a place without one."""

from typing import Any

import numpy as np
import numpy.typing as npt

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
