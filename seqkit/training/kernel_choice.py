"""How a network runs on this device: a rule chooses the kernel, a short trial the precision."""

import dataclasses
import itertools
import statistics
from collections.abc import Collection

import torch
from torch import Tensor

from seqkit.data.lanes import Lanes
from seqkit.foundation.errors import ConfigError, DeviceError, GaveUpError
from seqkit.lstm import fused_calls
from seqkit.lstm.execution import (
    PERSISTENT,
    Execution,
    persistent_kernels,
    plainest_kernel,
    usable_kernels,
)
from seqkit.lstm.fused_calls import TENSOR_CORE, round_up
from seqkit.lstm.graph import GraphedCall, milliseconds
from seqkit.lstm.launch import LayerKernels
from seqkit.lstm.nvrtc import KernelError
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import cross_entropy, require_finished

_STACKED_FROM = 48  # lanes; at 128 one call for all layers takes half the time in fp16
_CALLS, _WARM = 5, 8  # of each precision: those that are timed, and those before
_MOST_IDLE = 1024  # lanes, more than any kernel pads to: a checkpoint may name any number


def choose_execution(
    model: CharRNN,
    lanes: Lanes,
    *,
    precisions: list[str],
    timed: bool = True,
    before: Execution | None = None,
) -> Execution:
    """The execution that a run had before, else the one that is expected to be the fastest.

    Args:
        model: on its device.
        lanes: what it is to be trained on.
        precisions: those that are allowed, the first where nothing is timed.
        timed: try each precision on a GPU, which takes a few hundred milliseconds; else the first.
        before: what a run that is resumed ran as; kept if it is supported here.

    Raises:
        ConfigError, DeviceError: model.backend=persistent where that kernel cannot run.
    """
    if before is not None and supported(before, model, lanes, precisions):
        return before
    count, insists = width(model, lanes), model.config.backend == "persistent"
    if insists:
        _check_persistent(model, count, precisions)
    kernel = _kernel(model, lanes, precisions)
    if kernel == "persistent":
        return Execution(kernel, "fp16", count)
    # In whichever precision, the kernel without clusters takes the same time.
    tried = [Execution("grid", precision, count) for precision in precisions]
    grid = (execution for execution in tried if supported(execution, model, lanes, precisions))
    if insists:
        return next(grid)
    tried = [Execution(kernel, precision, count) for precision in precisions]
    cut = lanes.has_separators and not model.config.resets_in_one_call
    if not timed or not _on_gpu(model) or kernel == "unrolled" or cut:
        return tried[0]
    tried += itertools.islice(grid, 1)
    if len(tried) == 1:
        return tried[0]
    return min(tried, key=lambda execution: _milliseconds(model, lanes, execution))


def _kernel(model: CharRNN, lanes: Lanes, precisions: Collection[str]) -> str:
    """The persistent kernel in clusters wherever it runs; then one call for all layers, or a layer.

    That in clusters was the fastest at every shape measured: docs/how/kernel.md.
    """
    if not _on_gpu(model):
        return plainest_kernel(model.config)
    usable = usable_kernels(model.config, separators=lanes.has_separators)
    clusters = Execution("persistent", "fp16", width(model, lanes))
    if "persistent" in usable and "fp16" in precisions and not _refusal(model, clusters):
        return "persistent"
    return _cudnn_kernel(model, lanes)


def without_persistent(execution: Execution, model: CharRNN, lanes: Lanes) -> Execution:
    """The execution with cuDNN in place of the persistent kernel."""
    return dataclasses.replace(execution, kernel=_cudnn_kernel(model, lanes))


def _cudnn_kernel(model: CharRNN, lanes: Lanes) -> str:
    usable = usable_kernels(model.config, separators=lanes.has_separators)
    several = model.config.num_layers > 1 and lanes.widest >= _STACKED_FROM
    return "stacked" if several and "stacked" in usable else plainest_kernel(model.config)


def width(model: CharRNN, lanes: Lanes) -> int:
    """In how many lanes a process runs: on a GPU B rounded up to whole tiles of its products."""
    return round_up(lanes.widest, TENSOR_CORE if _on_gpu(model) else 1)


def supported(
    execution: Execution, model: CharRNN, lanes: Lanes, precisions: Collection[str]
) -> bool:
    """Whether a training can run this way here. For the arguments see `choose_execution`."""
    if _on_gpu(model):
        idle = execution.lanes - lanes.widest
        fits = 0 <= idle < _MOST_IDLE and execution.lanes % TENSOR_CORE == 0
    else:
        fits = execution.lanes == lanes.widest  # idle lanes only cost time on a CPU
    known = execution.kernel in usable_kernels(model.config, separators=lanes.has_separators)
    if not (fits and known and execution.precision in precisions):
        return False
    return execution.kernel not in PERSISTENT or not _refusal(model, execution)


def _milliseconds(model: CharRNN, lanes: Lanes, execution: Execution) -> float:
    """The median time of a forward and backward pass; for ever, if a kernel is refused."""
    device = model.head.weight.device
    try:
        run, failed = forward_backward(model, lanes, execution)
        require_finished(failed)
    except (GaveUpError, KernelError):
        return float("inf")
    milliseconds(run, _WARM, device)
    return statistics.median(milliseconds(run, _CALLS, device))


def forward_backward(
    model: CharRNN, lanes: Lanes, execution: Execution
) -> tuple[GraphedCall, Tensor | None]:
    """Both passes over one window as a CUDA graph, and `RunnableWeights.failed`."""
    device = model.head.weight.device
    shape = (lanes.sequence_length, execution.lanes)
    network = model.trainable_copy(
        dtype=execution.dtype, kernel=execution.kernel, separators=lanes.has_separators
    )
    leaves = network.tensors()
    symbols = torch.zeros(shape, dtype=torch.int64, device=device)
    resets = torch.zeros(shape, dtype=torch.bool, device=device)
    state = model.zero_state(execution.lanes)

    def run() -> None:
        logits, _ = network(symbols, state, None, resets if lanes.has_separators else None)
        torch.autograd.grad(cross_entropy(logits, symbols), leaves)

    return GraphedCall(run, device), network.layers.failed


def advice(model: CharRNN, execution: Execution) -> list[str]:
    """What the user may want to know of how this model runs on this device."""
    config, device = model.config, model.head.weight.device
    hidden, notes = config.hidden_size, []
    if _on_gpu(model) and hidden % TENSOR_CORE and config.backend != "unrolled":
        notes.append(
            f"model.hidden_size={hidden}: the fast kernels of this GPU take multiples of "
            f"{TENSOR_CORE}"
        )
    expected = _on_gpu(model) and config.backend == "auto" and execution.kernel not in PERSISTENT
    kernels = persistent_kernels(config) if expected else ()
    reason = (
        _refusal(model, dataclasses.replace(execution, kernel=kernels[-1])) if kernels else None
    )
    if reason:
        notes.append(f"cuDNN runs the layers: the persistent kernel {reason}")
    fused = execution.kernel != "unrolled"
    if fused and fused_calls.has_wrong_gradients(config.cell, hidden, device, execution.dtype):
        notes.append(
            f"this PyTorch computes wrong gradients for layers of {hidden} units in bf16 on this "
            "processor: they run in fp32, which is right and slower"
        )
    return notes


def _check_persistent(model: CharRNN, lanes: int, precisions: Collection[str]) -> None:
    """Raise ConfigError or DeviceError if the persistent kernel cannot run, though asked for."""
    config = model.config
    if not (kernels := persistent_kernels(config)):
        raise ConfigError(
            "model.backend=persistent runs an LSTM whose model.hidden_size is a multiple of 64 up "
            f"to 1024, not {config.cell} with {config.hidden_size}: use model.backend=cudnn"
        )
    wanted = [precision for precision in precisions if precision != "fp32"]
    if not wanted and _on_gpu(model):
        raise ConfigError("model.backend=persistent has 16 bits: leave train.precision=auto")
    reason: str | None = None
    for kernel in kernels:
        precision = "fp16" if "fp16" in wanted else next(iter(wanted), "fp16")
        if not (reason := _refusal(model, Execution(kernel, precision, lanes))):
            return
    raise DeviceError(f"model.backend=persistent {reason}: use model.backend=cudnn")


def _refusal(model: CharRNN, execution: Execution) -> str | None:
    """Why one of the persistent kernels cannot run this way here; None if it can."""
    device, hidden = model.head.weight.device, model.config.hidden_size
    if execution.precision == "fp32":
        return "has 16 bits"
    grid = execution.kernel == "grid"
    if execution.precision != "fp16" and not grid:
        return "computes in fp16"
    return LayerKernels(device, hidden, execution.dtype, grid).refusal(execution.lanes)


def _on_gpu(model: CharRNN) -> bool:
    return model.head.weight.device.type == "cuda"
