"""Which way runs layers fastest on a device: a rule, and a short trial where it does not tell.

Checkpoints refer to the ways by names that stay the same for ever. A new kernel gets a new name,
and the old ones keep their meaning.
"""

import functools
import itertools
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from seqkit.lstm.fused_calls import TENSOR_CORE
from seqkit.lstm.graph import GraphedCall, milliseconds
from seqkit.lstm.launch import LayerKernels
from seqkit.lstm.layers import PERSISTENT, Layers, make_layers
from seqkit.lstm.nvrtc import KernelError

KERNELS = {
    "layerwise": "one call a layer",
    "stacked": "one call for all layers",
    "persistent": "a persistent kernel a layer",
    "grid": "a persistent kernel a layer, without clusters",
    "unrolled": "step by step",
}
"""The kernels that can run the layers, each with what people read of it."""

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
"""The names of precisions."""


_STACKED_FROM = 48  # lanes; at 128 one call for all layers takes half the time in fp16
_CALLS, _WARM = 5, 8  # of each way that is tried: those that are timed, and those before
_MOST_IDLE = 1024  # lanes, more than any kernel pads to: a checkpoint may name any number


@dataclass(frozen=True)
class Execution:
    """How layers, and the network around them, run in training.

    Attributes:
        kernel: layerwise (one fused call a layer), stacked (one for all layers), persistent
            (a kernel of our own, once a layer), grid (the same without clusters of blocks) or
            unrolled (the equations, step by step).
        precision: fp32, bf16 or fp16.
        lanes: B or more. Lanes beyond B are idle: they fill up the tiles that a GPU works in.
    """

    kernel: str
    precision: str
    lanes: int

    def __post_init__(self) -> None:
        """Raises ValueError: a kernel or precision that is not known here."""
        if self.kernel not in KERNELS or self.precision not in DTYPES:
            raise ValueError(f"no kernel {self.kernel!r} in {self.precision!r}")

    def __str__(self) -> str:
        return f"{self.precision}, {KERNELS[self.kernel]}, {self.lanes} lanes"

    @property
    def dtype(self) -> torch.dtype:
        """Of weights and activations."""
        return DTYPES[self.precision]

    @property
    def persistent(self) -> bool:
        """Whether a kernel of our own runs the layers."""
        return self.kernel in PERSISTENT

    @classmethod
    def from_record(cls, record: Any) -> "Execution | None":
        """Of what a checkpoint keeps; None of all else, as of a kernel of a later version."""
        try:
            return cls(str(record["kernel"]), str(record["precision"]), int(record["lanes"]))
        except (KeyError, TypeError, ValueError, OverflowError):
            return None


@dataclass(frozen=True)
class Task:
    """Layers to be trained, and all that the choice of a way depends on.

    Attributes:
        cell, input_size, hidden_size, num_layers: of the layers.
        steps, lanes: T and B.
        device: where they are.
        backend: what may run them: cudnn (on a CPU oneDNN), persistent (kernels of our own), auto
            (the fastest of these) or unrolled (the equations).
        one_hot: whether the inputs are the one-hot row of a symbol each.
        resets: whether separators between documents will be given.
        within: whether the outputs below the top are read, or masked. In one call for all layers
            there is no place for that, nor for a separator's channel.
    """

    cell: str
    input_size: int
    hidden_size: int
    num_layers: int
    steps: int
    lanes: int
    device: torch.device
    backend: str = "auto"
    one_hot: bool = False
    resets: bool = False
    within: bool = False

    @property
    def width(self) -> int:
        """The lanes that run: on a GPU B rounded up to whole tiles of its products."""
        return self.lanes + (-self.lanes % TENSOR_CORE if self.device.type == "cuda" else 0)

    @property
    def own_kernels(self) -> list[str]:
        """The persistent kernels that run layers of this shape on some GPU."""
        fits = self.cell == "lstm" and self.hidden_size % 64 == 0
        return [name for name, widest in PERSISTENT.items() if fits and self.hidden_size <= widest]

    @property
    def kernels(self) -> list[str]:
        """The kernels that can run the layers on some device, the plainest first."""
        if self.backend == "unrolled":
            return ["unrolled"]
        fused = ["layerwise"] if self.resets or self.within else ["layerwise", "stacked"]
        own = [] if self.backend == "cudnn" else self.own_kernels
        return own if self.backend == "persistent" else fused + own

    def without_own(self) -> str:
        """The kernel that is none of our own, and that is expected to be the fastest."""
        several = self.num_layers > 1 and self.lanes >= _STACKED_FROM
        fast = several and self.device.type == "cuda" and "stacked" in self.kernels
        return "unrolled" if self.backend == "unrolled" else "stacked" if fast else "layerwise"

    def refusal(self, execution: Execution) -> str | None:
        """Why a persistent kernel cannot run this way here, in words; None if it can."""
        grid = execution.kernel == "grid"
        kernels = LayerKernels(self.device, self.hidden_size, execution.dtype, grid)
        return kernels.refusal(execution.lanes)

    def runs(self, execution: Execution) -> bool:
        """Whether the layers can run this way here."""
        idle = execution.lanes - self.lanes  # which only cost time on a CPU
        fits = idle == 0
        if self.device.type == "cuda":
            fits = 0 <= idle < _MOST_IDLE and execution.lanes % TENSOR_CORE == 0
        known = fits and execution.kernel in self.kernels
        return known and not (execution.persistent and self.refusal(execution))


def fastest(task: Task, precisions: Sequence[str], *, timed: bool = True) -> Execution:
    """The way that is expected to run the layers fastest.

    The persistent kernel in clusters was the fastest at every shape that was measured
    (docs/how/kernel.md), so it runs wherever it can. Else cuDNN and the persistent kernel on the
    grid are timed, and where neither of ours runs, cuDNN does.

    Args:
        task: the layers.
        precisions: those that are allowed, the first where nothing is timed.
        timed: try the others on a GPU, which takes a few hundred milliseconds.

    Raises:
        KernelError: a persistent kernel is asked for, and this device runs none.
    """

    def allowed(kernel: str) -> Iterator[Execution]:
        tried = (Execution(kernel, precision, task.width) for precision in precisions)
        return (execution for execution in tried if task.runs(execution))

    own = itertools.chain(allowed("persistent"), allowed("grid"))
    if task.backend == "persistent":
        if (execution := next(own, None)) is not None:
            return execution
        last = Execution(task.own_kernels[-1], precisions[0], task.width)
        raise KernelError(task.refusal(last))
    if (clusters := next(allowed("persistent"), None)) is not None:
        return clusters
    tried = [Execution(task.without_own(), precision, task.width) for precision in precisions]
    cut = task.resets and task.cell != "lstm"  # into pieces that depend on the data
    if not timed or cut or task.device.type != "cuda" or task.backend == "unrolled":
        return tried[0]
    # In whichever precision, the kernel without clusters takes the same time.
    tried += itertools.islice(allowed("grid"), 1)
    if len(tried) == 1:
        return tried[0]
    return min(tried, key=functools.partial(_milliseconds, task))


def _milliseconds(task: Task, execution: Execution) -> float:
    """The median time of a forward and backward pass; for ever, if a kernel does not run."""
    try:
        call, failed = _recorded(task, execution)
    except KernelError:
        return math.inf
    if failed is not None and failed.item():
        return math.inf
    milliseconds(call, _WARM, task.device)
    return statistics.median(milliseconds(call, _CALLS, task.device))


def _recorded(task: Task, execution: Execution) -> tuple[GraphedCall, Tensor | None]:
    """Both passes over layers and inputs drawn at random, as a CUDA graph; and `Layers.failed`."""
    device, (steps, lanes) = task.device, (task.steps, execution.lanes)
    generator = torch.Generator(device).manual_seed(0)

    def drawn(*shape: int) -> Tensor:
        values = torch.empty(shape, dtype=execution.dtype, device=device)
        return values.uniform_(-0.1, 0.1, generator=generator)

    with torch.device("meta"):  # for their shapes
        modules = make_layers(task.cell, task.input_size, task.hidden_size, task.num_layers)
    layers = Layers.of(modules, task.cell, execution.kernel, execution.dtype)
    layers = layers.with_tensors([drawn(*part.shape) for part in layers.tensors()])
    layers = layers.packed(task.resets)
    leaves = [part.detach().requires_grad_() for part in layers.tensors()]
    layers = layers.with_tensors(leaves)
    x, h = drawn(steps, lanes, task.input_size), drawn(task.num_layers, lanes, task.hidden_size)
    resets = torch.zeros(steps, lanes, dtype=torch.bool, device=device) if task.resets else None
    dy = torch.ones(steps, lanes, task.hidden_size, dtype=h.dtype, device=device)
    if not task.one_hot:
        leaves.append(x.requires_grad_())
    elif layers.reads_symbols:
        x = torch.zeros(steps, lanes, dtype=torch.int64, device=device)

    def run() -> None:
        outputs, _, _ = layers(x, h, h, None, resets)
        torch.autograd.grad(outputs[-1], leaves, dy)

    return GraphedCall(run, device), layers.failed
