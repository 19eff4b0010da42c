"""The update on a GPU: norm, clipping, update rule and all copies in two launches.

PyTorch takes a dozen launches for it, each of a few blocks. The tensors are those of a PyTorch
optimizer, so a training may be resumed with either.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from seqkit.lstm import Kernel
from seqkit.training.weights import TrainingWeights

_THREADS, _CHUNK = 256, 1024  # as in gpu_update.cu
_BLOCKS_MEASURING = 528
_DECISION = 32  # bytes, at least

_PIECE = np.dtype(
    [(name, np.uint64) for name in ("parameter", "first", "second", "steps", "average", "copy")]
    + [("gradient", np.int64)]
    + [(name, np.int32) for name in ("count", "columns", "stride")]
    + [("decay", np.float32)]
)


class GpuUpdate:
    """Updates the parameters of `weights` by their gradients, and all that is made from them.

    That is the weights that run and the average. A CUDA graph can replay it.
    """

    def __init__(
        self,
        weights: TrainingWeights,
        optimizer: torch.optim.Optimizer,
        tensors: Mapping[str, Tensor | None],
        settings: Mapping[str, float],
    ) -> None:
        """Args:
        weights: on a GPU.
        optimizer: AdamW or SGD; its moments exist.
        tensors: rate, norm, scale, growth, left_out and gave_up, as gpu_update.cu explains them.
        settings: clip_norm, exploded and patience.

        Raises:
            KernelError: this PyTorch cannot compile kernels for this GPU.
        """
        device = weights.flat_gradient.device
        kind = isinstance(optimizer, torch.optim.AdamW), weights.leaves[-1].dtype
        self._measure = _kernel("measure_gradient", device, *kind)
        self._update = _kernel("update_parameters", device, *kind)
        self._kept = weights, optimizer  # the table has the addresses of their tensors
        pieces = _pieces(weights, optimizer)
        places = _chunks(pieces["count"].tolist(), device)
        self._blocks = len(places)
        average = weights.average
        group = optimizer.param_groups[0]
        self._arguments: dict[str, Tensor | float | None] = {
            **tensors,
            **settings,
            "pieces": torch.from_numpy(pieces.view(np.uint8)).to(device),
            "chunks": places,
            "gradient": weights.flat_gradient,
            "partials": torch.zeros(_BLOCKS_MEASURING, dtype=torch.float64, device=device),
            "arrived": torch.zeros(1, dtype=torch.int32, device=device),
            "decision": torch.zeros(_DECISION, dtype=torch.uint8, device=device),
            "share": None if average is None else average.share,
            "length": weights.flat_gradient.numel(),
            "pieces_count": len(pieces),
            "momentum": group.get("momentum", 0.0),
        }
        for number, decay in enumerate(group.get("betas", (0.0, 0.0)), 1):
            self._arguments |= {f"beta{number}": decay, f"rest{number}": 1 - decay}
            self._arguments[f"log{number}"] = math.log(decay) if decay else -math.inf

    def __call__(self) -> None:
        """Queue the update."""
        self._measure.launch(self._arguments, blocks=_BLOCKS_MEASURING, threads=_THREADS)
        self._update.launch(self._arguments, blocks=self._blocks, threads=_THREADS)


@functools.cache
def _kernel(name: str, device: torch.device, adam: bool, dtype: torch.dtype) -> Kernel:
    return Kernel(
        name,
        sources=[Path(__file__).with_suffix(".cu")],
        constants={"ADAM": adam},
        device=device,
        dtype=dtype,
    )


def _pieces(
    weights: TrainingWeights, optimizer: torch.optim.Optimizer
) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """The table of what belongs to each parameter."""
    decays = {
        parameter: group["weight_decay"]
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    copies = {id(weight): used for used, weight in weights.copies}
    averages: Sequence[Tensor | None] = [None] * len(weights.parameters)
    if weights.average is not None:
        averages = weights.average.averages
    pieces = np.zeros(len(weights.parameters), _PIECE)
    rows = zip(pieces, weights.parameters, weights.gradients, averages, strict=True)
    for piece, weight, gradient, average in rows:
        moments, copy = optimizer.state[weight], copies.get(id(weight))
        first = moments.get("exp_avg", moments.get("momentum_buffer"))
        tensors = {"parameter": weight, "first": first, "second": moments.get("exp_avg_sq")}
        tensors |= {"steps": moments.get("step"), "average": average, "copy": copy}
        for name, values in tensors.items():
            piece[name] = 0 if values is None else values.data_ptr()
        piece["gradient"] = int(gradient.storage_offset())
        count, is_matrix = weight.numel(), weight.dim() > 1
        piece["count"] = count
        piece["columns"] = piece["stride"] = weight.shape[-1] if is_matrix else count
        if copy is not None and is_matrix:
            piece["stride"] = copy.stride(0)
        piece["decay"] = decays[weight]
    return pieces


def _chunks(counts: Sequence[int], device: torch.device) -> Tensor:
    """Of each block of a launch its tensor and which of that one's chunks; (blocks, 2), int32."""
    places = [(piece, n) for piece, count in enumerate(counts) for n in range(-(-count // _CHUNK))]
    return torch.tensor(places, dtype=torch.int32, device=device)
