"""Copies of many tensors into others, in one launch over the whole GPU."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seqkit.kernels.nvrtc import NUMBERS, Kernel, Value, dtype_number

_THREADS, _CHUNK = 256, 1024  # as in gather.cu

_PIECE = np.dtype([("target", np.uint64), ("count", np.int32), ("columns", np.int32)])


class Gather:
    """Copies tensors of one dtype into fp32 tensors; a CUDA graph can replay it."""

    def __init__(self, targets: Sequence[Tensor], dtype: torch.dtype) -> None:
        """Prepare the copies.

        Args:
            targets: contiguous, on a GPU.
            dtype: of what is copied.

        Raises:
            DeviceError: this PyTorch cannot compile kernels for this GPU.
        """
        self._targets = targets
        device = targets[0].device
        self._kernel = Kernel(
            "gather",
            sources=[NUMBERS, Path(__file__).with_suffix(".cu")],
            constants={"COUNT": len(targets), "DTYPE": dtype_number(dtype)},
            device=device,
        )
        pieces = np.array([(t.data_ptr(), t.numel(), t.shape[-1]) for t in targets], _PIECE)
        self._pieces = torch.from_numpy(pieces.view(np.uint8)).to(device)
        self._chunks = chunks([target.numel() for target in targets], _CHUNK, device)

    def __call__(self, sources: Sequence[Tensor]) -> None:
        """Copy the sources, shaped like the targets."""
        rows = [s if s.stride(-1) == 1 else s.contiguous() for s in sources]
        strides = [row_stride(row) for row in rows]
        tables = {"pieces": self._pieces, "chunks": self._chunks}
        arguments: dict[str, Value] = {**tables, "sources": rows, "strides": strides}
        self._kernel.launch(arguments, blocks=len(self._chunks), threads=_THREADS)


def row_stride(tensor: Tensor) -> int:
    """From one row of a matrix to the next, in elements; a vector is one row."""
    return tensor.stride(0) if tensor.dim() > 1 else tensor.numel()


def chunks(counts: Sequence[int], size: int, device: torch.device) -> Tensor:
    """Of each block of a launch its tensor and which of that one's chunks; (blocks, 2), int32."""
    places = [(piece, n) for piece, count in enumerate(counts) for n in range(-(-count // size))]
    return torch.tensor(places, dtype=torch.int32, device=device)
