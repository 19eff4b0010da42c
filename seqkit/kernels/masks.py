"""Dropout masks on a GPU, in one launch; PyTorch takes sixteen."""

import functools
import math
from pathlib import Path

import torch
from torch import Tensor

from seqkit.foundation.errors import DeviceError
from seqkit.foundation.randomness import dropout_masks, dropout_threshold
from seqkit.kernels.nvrtc import NUMBERS, Kernel, Value, dtype_number

_THREADS = 256


def masks(
    keys: Tensor, shape: tuple[int, ...], rate: float, dtype: torch.dtype, first: int = 0
) -> Tensor:
    """`randomness.dropout_masks`, to the bit."""
    kernel = _kernel(keys.device, dtype) if keys.is_cuda else None
    if kernel is None:
        return dropout_masks(keys, shape, rate, dtype, first)
    made = torch.empty((len(keys), *shape), dtype=dtype, device=keys.device)
    count, begin = math.prod(shape), first * math.prod(shape[1:])
    arguments: dict[str, Value] = {"masks": made, "keys": keys, "layers": len(keys)}
    arguments |= {"begin": begin, "count": count}
    arguments |= {"threshold": dropout_threshold(rate), "factor": 1 / (1 - rate)}
    threads = len(keys) * ((begin + count + 1) // 2 - begin // 2)
    kernel.launch(arguments, blocks=-(-threads // _THREADS), threads=_THREADS)
    return made


@functools.cache
def _kernel(device: torch.device, dtype: torch.dtype) -> Kernel | None:
    """None with a PyTorch that has no NVRTC."""
    source = Path(__file__).with_suffix(".cu")
    constants = {"DTYPE": dtype_number(dtype)}
    try:
        return Kernel(
            "dropout_masks", sources=[NUMBERS, source], constants=constants, device=device
        )
    except DeviceError:
        return None
