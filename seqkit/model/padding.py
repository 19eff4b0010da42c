"""Sizes rounded to whole tiles, the units in which fast kernels work."""

from torch import Tensor

TENSOR_CORE = 8
"""Tensor cores want the sides of a matrix in multiples of this: lanes, hidden units, logits."""

CUDNN_INPUT = 128
"""cuDNN's fastest LSTM kernels want inputs whose width is a multiple of this."""

BF16_INPUT = 32
"""Processors multiply bfloat16 in rows of so many, which is 64 bytes."""


def round_up(size: int, tile: int) -> int:
    """The smallest multiple of `tile` that is not below `size`."""
    return size + -size % tile


def nearest(size: int, tile: int) -> int:
    """The multiple of `tile` nearest to `size`, at least one tile; halves go up."""
    return max(tile, (size + tile // 2) // tile * tile)


def without_padding(padded: Tensor, like: Tensor) -> Tensor:
    """A view of the leading rows and columns of `padded`, in the shape of `like`."""
    return padded[tuple(slice(size) for size in like.shape)]
