"""From gradients to new parameters: clipping, the loss scale of fp16, and AdamW.

On a GPU two kernels of our own, where PyTorch takes a dozen launches of a few blocks each.
"""

import functools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.optim.adamw import adamw

from seqkit.config import OptimizerConfig, TrainConfig
from seqkit.lstm import Kernel, KernelError
from seqkit.training.weights import TrainingWeights, restore_tensors

_BETAS, _EPSILON = (0.9, 0.99), 1e-8
_SCALE = 65536.0  # of the loss in fp16 at first; halved when a gradient overflows
_PATIENCE = 2000  # steps without an overflow after which the scale is doubled
_EXPLODED = 100.0  # times clip_norm, or times 1: a longer gradient tells nothing of the data


class OptimizerStep:
    """Updates the parameters by their gradients, with tensors only: a CUDA graph can replay it.

    Attributes:
        scale: what the loss is multiplied by before its gradient is taken: 1 except in fp16, whose
            small gradients would otherwise vanish.
        norm: of the last gradient, without the scale and before clipping.
        left_out: int32, how many updates were left out: the gradient exploded, or overflowed fp16.
    """

    def __init__(
        self,
        optimizer: OptimizerConfig,
        train: TrainConfig,
        weights: TrainingWeights,
        *,
        scaled: bool,
    ) -> None:
        """`scaled`: whether the loss is scaled, as fp16 needs it."""
        self._weights = weights
        self._clip_norm = train.clip_norm
        self._exploded = _EXPLODED * max(1.0, train.clip_norm) if train.clip_norm else math.inf
        self._scaled = scaled
        pairs = [*zip(weights.parameters, weights.gradients, strict=True)]
        # Only the matrices decay.
        matrices = _Moments([pair for pair in pairs if pair[0].dim() > 1], optimizer.weight_decay)
        self._groups = matrices, _Moments([pair for pair in pairs if pair[0].dim() == 1], 0.0)
        device = weights.flat_gradient.device
        # A CUDA graph reads the rate from the device; a CPU computes with all of its digits.
        wide = torch.float32 if device.type == "cuda" else torch.float64
        self.rate = torch.tensor(optimizer.lr, dtype=wide, device=device)
        """The learning rate of the next update."""
        self.norm = torch.zeros((), device=device)
        self.left_out = torch.zeros((), dtype=torch.int32, device=device)
        self.scale = torch.full((), _SCALE if scaled else 1.0, device=device)
        self._growth = torch.zeros((), dtype=torch.int32, device=device)
        self._on_gpu = self._gpu_update() if device.type == "cuda" else None

    def _gpu_update(self) -> "_GpuUpdate | None":
        """The update in kernels of our own, where they run."""
        arguments: dict[str, Tensor | float | None] = {
            "rate": self.rate,
            "norm": self.norm,
            "scale": self.scale,
            "growth": self._growth if self._scaled else None,
            "left_out": self.left_out,
            "clip_norm": self._clip_norm,
            "exploded": self._exploded,
            "patience": _PATIENCE,
        }
        try:
            return _GpuUpdate(self._weights, self._groups, arguments)
        except KernelError:  # a PyTorch without NVRTC
            return None

    @torch.no_grad()
    def update(self) -> None:
        """Update the parameters, and what is made from them: the weights that run, the average.

        The gradient's norm is bounded, as in Pascanu et al. (2013): that and the loss scale make up
        one divisor. Where a gradient overflowed fp16 or exploded, the parameters stay as they are:
        AdamW would take a clipped one for a direction as good as any other. NaN has not exploded:
        without a scale it shows in the parameters.
        """
        if self._on_gpu is not None:
            self._on_gpu()
            return
        bound = self._clip_norm
        norm = torch.linalg.vector_norm(self._weights.flat_gradient)
        torch.div(norm, self.scale, out=self.norm)
        overflow = None
        if self._scaled:  # 1 if the norm is not finite, in fewer kernels than isfinite takes
            overflow = norm.clamp(max=torch.finfo(norm.dtype).max).ne(norm).to(norm.dtype)
        skipped = overflow
        if bound:
            exploded = norm.gt(self._exploded * self.scale).to(norm.dtype)
            skipped = exploded if overflow is None else torch.maximum(exploded, overflow)
        if skipped is not None:
            self.left_out += skipped.to(self.left_out.dtype)
        divisor = torch.maximum(self.scale, norm / bound) if bound else self.scale
        for group in self._groups:
            adamw(
                *(group.parameters, group.gradients, group.means, group.squares, [], group.steps),
                fused=True,
                grad_scale=divisor,
                found_inf=skipped,
                amsgrad=False,
                beta1=_BETAS[0],
                beta2=_BETAS[1],
                lr=self.rate,
                weight_decay=group.decay,
                eps=_EPSILON,
                maximize=False,
            )
        if overflow is not None:
            # Halves it after an overflow, and doubles it after enough steps without one.
            torch._amp_update_scale_(self.scale, self._growth, overflow, 2.0, 0.5, _PATIENCE)
            self.scale.clamp_(min=1)  # what overflows without a scale is not the scale's fault
        self._weights.renew()
        if self._weights.average is not None:
            self._weights.average.update()

    def tensors(self) -> dict[str, Tensor]:
        """All that an update changes beside the parameters."""
        return self.moments() | self._scaling() | {"left_out": self.left_out}

    def _scaling(self) -> dict[str, Tensor]:
        return {"scale": self.scale, "growth": self._growth}

    def moments(self) -> dict[str, Tensor]:
        """What AdamW remembers of earlier gradients."""
        rows = [row for group in self._groups for row in group.rows()]
        names = "step", "exp_avg", "exp_avg_sq"  # as torch.optim.AdamW calls them
        return {
            f"optimizer.{index}.{name}": values
            for index, row in enumerate(rows)
            for name, values in zip(names, row, strict=True)
        }

    def state(self) -> dict[str, Tensor]:
        """What a checkpoint keeps: `tensors`, but no scale of 1, and no count of 0."""
        scaling = self._scaling() if self._scaled else {}
        left_out = {"left_out": self.left_out} if self.left_out else {}
        return self.moments() | scaling | left_out

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from what `state` returned; tensors of others are passed over.

        Raises ValueError: it belongs to another model, or is not whole.
        """
        scaling = self._scaling() if self._scaled else {}
        if not scaling.keys() & tensors.keys():  # it ran in another precision before
            scaling = {}
        left_out = {"left_out": self.left_out} if "left_out" in tensors else {}
        wanted = self.moments() | scaling | left_out
        restore_tensors(tensors, wanted)
        if others := {name for name in tensors if name.startswith("optimizer.")} - wanted.keys():
            raise ValueError(f"{min(others)} belongs to no weights of this network")


class _Moments:
    """Parameters that decay alike, their gradients, and what AdamW remembers of these.

    `means` and `squares` are running means of the gradients and of their squares; `steps` count the
    updates.
    """

    def __init__(self, pairs: Sequence[tuple[Tensor, Tensor]], decay: float) -> None:
        """`pairs` are parameters with their gradients."""
        self.parameters = [parameter for parameter, _ in pairs]
        self.gradients = [gradient for _, gradient in pairs]
        self.decay = decay
        self.means = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.squares = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.steps = [torch.zeros((), device=parameter.device) for parameter in self.parameters]

    def rows(self) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Of each parameter its count of updates, mean and square."""
        return [*zip(self.steps, self.means, self.squares, strict=True)]


_THREADS, _CHUNK = 256, 1024  # as in gpu_update.cu
_BLOCKS_MEASURING = 528
_DECISION = 32  # bytes, at least

_PIECE = np.dtype(
    [(name, np.uint64) for name in ("parameter", "mean", "square", "steps", "average", "copy")]
    + [("gradient", np.int64)]
    + [(name, np.int32) for name in ("count", "columns", "stride")]
    + [("decay", np.float32)]
)


class _GpuUpdate:
    """The update in two launches, `gpu_update.cu`: of parameters, weights that run and average."""

    def __init__(
        self,
        weights: TrainingWeights,
        groups: Sequence[_Moments],
        arguments: Mapping[str, Tensor | float | None],
    ) -> None:
        """`arguments` are those of the kernels that are not made here.

        Raises KernelError: this PyTorch cannot compile kernels for this GPU.
        """
        device, dtype = weights.flat_gradient.device, weights.leaves[-1].dtype
        self._measure = _kernel("measure_gradient", device, dtype)
        self._update = _kernel("update_parameters", device, dtype)
        self._kept = weights, groups  # the table has the addresses of their tensors
        pieces = _pieces(weights, groups)
        counts = enumerate(pieces["count"].tolist())
        chunks = [(piece, chunk) for piece, n in counts for chunk in range(-(-n // _CHUNK))]
        self._blocks = len(chunks)
        self._arguments: dict[str, Tensor | float | None] = {
            **arguments,
            "pieces": torch.from_numpy(pieces.view(np.uint8)).to(device),
            "chunks": torch.tensor(chunks, dtype=torch.int32, device=device),
            "gradient": weights.flat_gradient,
            "partials": torch.zeros(_BLOCKS_MEASURING, dtype=torch.float64, device=device),
            "arrived": torch.zeros(1, dtype=torch.int32, device=device),
            "decision": torch.zeros(_DECISION, dtype=torch.uint8, device=device),
            "share": None if weights.average is None else weights.average.share,
            "length": weights.flat_gradient.numel(),
            "pieces_count": len(pieces),
        }
        for number, decay in enumerate(_BETAS, 1):
            self._arguments |= {f"beta{number}": decay, f"rest{number}": 1 - decay}
            self._arguments[f"log{number}"] = math.log(decay)

    def __call__(self) -> None:
        """Queue the update."""
        self._measure.launch(self._arguments, blocks=_BLOCKS_MEASURING, threads=_THREADS)
        self._update.launch(self._arguments, blocks=self._blocks, threads=_THREADS)


@functools.cache
def _kernel(name: str, device: torch.device, dtype: torch.dtype) -> Kernel:
    source = Path(__file__).with_name("gpu_update.cu")
    return Kernel(name, sources=[source], constants={}, device=device, dtype=dtype)


def _pieces(
    weights: TrainingWeights, groups: Sequence[_Moments]
) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    """The table of what belongs to each parameter."""
    copies = {id(weight): used for used, weight in weights.copies}
    averages = {}
    if weights.average is not None:
        own = zip(weights.parameters, weights.average.averages, strict=True)
        averages = {id(weight): average for weight, average in own}
    pieces = np.zeros(len(weights.parameters), _PIECE)
    places = iter(pieces)
    for group in groups:
        rows = zip(group.parameters, group.gradients, group.rows(), strict=True)
        for weight, gradient, (steps, mean, square) in rows:
            piece, copy = next(places), copies.get(id(weight))
            tensors = {"parameter": weight, "mean": mean, "square": square, "steps": steps}
            tensors |= {"average": averages.get(id(weight)), "copy": copy}  # type: ignore[dict-item]
            for name, values in tensors.items():
                piece[name] = 0 if values is None else values.data_ptr()
            piece["gradient"] = int(gradient.storage_offset())
            count, is_matrix = weight.numel(), weight.dim() > 1
            piece["count"] = count
            piece["columns"] = piece["stride"] = weight.shape[-1] if is_matrix else count
            if copy is not None and is_matrix:
                piece["stride"] = copy.stride(0)
            piece["decay"] = group.decay
    return pieces
