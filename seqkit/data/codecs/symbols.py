"""What symbols are, and how they are stored."""

from typing import Any

import numpy as np
import numpy.typing as npt

Symbols = npt.NDArray[np.unsignedinteger[Any]]


def symbol_dtype(size: int) -> np.dtype[Any]:
    """The narrowest unsigned integer that holds `size` different symbols."""
    return np.dtype(np.uint8 if size <= 2**8 else np.uint16 if size <= 2**16 else np.uint32)
