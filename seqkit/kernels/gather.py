"""Copies of many tensors into others, in one launch over the whole GPU."""

import ctypes
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from seqkit.kernels.nvrtc import NUMBERS, Kernel, dtype_number

_THREADS, _CHUNK = 256, 1024  # as in gather.cu

_PIECE = np.dtype([("target", np.uint64), ("count", np.int32), ("columns", np.int32)])


class Gather:
    """Copies tensors of one dtype into fp32 tensors; a CUDA graph can replay it."""

    def __init__(self, targets: Sequence[Tensor], dtype: torch.dtype) -> None:
        """Args:
        targets: contiguous, on a GPU.
        dtype: of what is copied.

        Raises:
            DeviceError: this PyTorch cannot compile kernels for this GPU.
        """
        self._targets = targets
        device = targets[0].device
        self._dtype = dtype
        count = len(targets)
        self._kernel = Kernel(
            "gather",
            sources=[NUMBERS, Path(__file__).with_suffix(".cu")],
            constants={"COUNT": count, "DTYPE": dtype_number(dtype)},
            device=device,
        )
        pieces = np.array([(t.data_ptr(), t.numel(), t.shape[-1]) for t in targets], _PIECE)
        self._pieces = torch.from_numpy(pieces.view(np.uint8)).to(device)
        self._chunks = chunks([target.numel() for target in targets], _CHUNK, device)
        pointers, integers = ctypes.c_void_p * count, ctypes.c_int * count
        fields: list[tuple[str, Any]] = [(k, ctypes.c_void_p) for k in ("pieces", "chunks")]
        fields += [("sources", pointers), ("strides", integers)]
        self._arguments = type("_Arguments", (ctypes.Structure,), {"_fields_": fields})

    def __call__(self, sources: Sequence[Tensor]) -> None:
        """Copy the sources, shaped like the targets."""
        rows = [s if s.stride(-1) == 1 else s.contiguous() for s in sources]
        count = len(self._targets)
        arguments = self._arguments(
            pieces=self._pieces.data_ptr(),
            chunks=self._chunks.data_ptr(),
            sources=(ctypes.c_void_p * count)(*(row.data_ptr() for row in rows)),
            strides=(ctypes.c_int * count)(*map(row_stride, rows)),
        )
        self._kernel.launch(arguments, blocks=len(self._chunks), threads=_THREADS)


def row_stride(tensor: Tensor) -> int:
    """From one row of a matrix to the next, in elements; a vector is one row."""
    return tensor.stride(0) if tensor.dim() > 1 else tensor.numel()


def chunks(counts: Sequence[int], size: int, device: torch.device) -> Tensor:
    """Of each block of a launch its tensor and which of that one's chunks; (blocks, 2), int32."""
    places = [(piece, n) for piece, count in enumerate(counts) for n in range(-(-count // size))]
    return torch.tensor(places, dtype=torch.int32, device=device)
