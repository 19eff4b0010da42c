"""Which execution of a network is the fastest on this GPU: measured, not guessed."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seqkit.data.lanes import Lanes
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.kernels.graph import Recording
from seqkit.kernels.timing import interleave
from seqkit.model import fused
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution, has_persistent_shape, usable_kernels
from seqkit.model.loss import cross_entropy
from seqkit.model.padding import TENSOR_CORE, nearest, round_up
from seqkit.model.persistent import launch
from seqkit.training.kernel_times import measured_times

_CALLS = 5  # of every candidate
_MOST_IDLE = 1024  # lanes, more than any kernel pads to: a checkpoint may name any number


@dataclass(frozen=True)
class ExecutionChoice:
    """The execution that was chosen, and what was measured to choose it.

    Attributes:
        execution: the choice.
        milliseconds: of a forward and backward pass, by candidate; empty without a search.
        refused: what a GPU said that was expected to run the persistent kernel and does not.
    """

    execution: Execution
    milliseconds: dict[Execution, float]
    refused: str | None = None

    def __str__(self) -> str:
        times = {str(tried): f"{time:.2f} ms" for tried, time in self.milliseconds.items()}
        name = str(self.execution)
        own = times.pop(name, None)
        others = ", ".join(f"{other} {time}" for other, time in times.items())
        return f"{name} {own} (measured; {others})" if own else name


def candidates(model: CharRNN, lanes: Lanes, precisions: list[str]) -> list[Execution]:
    """The executions that a search chooses from, the plainest first.

    Args:
        model: on its device.
        lanes: what it is to be trained on.
        precisions: those that are allowed.

    Raises:
        ConfigError, DeviceError: model.backend=persistent where that kernel cannot run.
    """
    config = model.config
    kernels = usable_kernels(config, separators=lanes.has_separators)
    if (config.num_layers == 1 or not _on_gpu(model)) and "stacked" in kernels:
        kernels.remove("stacked")  # there is nothing to stack, or to gain from it
    if config.backend == "persistent":
        _check_persistent(model, precisions)
    elif "persistent" in kernels and _refusal(model):
        kernels.remove("persistent")
    count = width(model, lanes)
    found = [Execution(kernel, precision, count) for precision in precisions for kernel in kernels]
    return [execution for execution in found if _computes(execution)]


def width(model: CharRNN, lanes: Lanes) -> int:
    """In how many lanes a process runs, for arguments as in `candidates`: all in as many."""
    return round_up(lanes.widest, TENSOR_CORE if _on_gpu(model) else 1)


def supported(
    execution: Execution, model: CharRNN, lanes: Lanes, precisions: Collection[str]
) -> bool:
    """Whether a training can run this way here, though a search might not try it any more.

    For the arguments see `candidates`.
    """
    if _on_gpu(model):
        idle = execution.lanes - lanes.widest
        fits = 0 <= idle < _MOST_IDLE and execution.lanes % TENSOR_CORE == 0
    else:
        fits = execution.lanes == lanes.widest  # idle lanes only cost time on a CPU
    kernels = usable_kernels(model.config, separators=lanes.has_separators)
    known = execution.kernel in kernels and execution.precision in precisions
    runs = execution.kernel != "persistent" or not _refusal(model)
    return fits and known and runs and _computes(execution)


def choose_execution(
    model: CharRNN,
    lanes: Lanes,
    *,
    precisions: list[str],
    cache: Path,
    search: bool = True,
    before: Execution | None = None,
) -> ExecutionChoice:
    """The execution that a run had before, else the fastest candidate on a GPU.

    Where nothing is searched it is the persistent kernel if that can run, else the plainest.

    Args:
        model: on its device.
        lanes: what it is to be trained on.
        precisions: those that are allowed.
        cache: the folder in which measured times are remembered.
        search: measure what has no time yet, which takes a few hundred milliseconds.
        before: what a run that is resumed ran as; kept if it is supported here.

    Raises:
        ConfigError, DeviceError: model.backend=persistent where that kernel cannot run.
    """
    if before is not None and supported(before, model, lanes, precisions):
        return ExecutionChoice(before, {})
    tried = candidates(model, lanes, precisions)
    cut = lanes.has_separators and not model.config.resets_in_one_call
    if not search or not _on_gpu(model) or model.config.backend == "unrolled" or cut:
        return _by_rule(model, lanes, tried)
    refused: list[str] = []

    def measure(execution: Execution) -> float:
        try:
            return _milliseconds(model, lanes, execution)
        except DeviceError as error:
            refused.append(str(error))
            raise

    times = measured_times(
        tried,
        measure=measure,
        place=cache / "kernel_times.json",
        circumstances=json.dumps(_circumstances(model, lanes)),
    )
    fastest = min(times, key=lambda e: times[e], default=tried[0])
    return ExecutionChoice(fastest, times, next(iter(refused), None))


def _by_rule(model: CharRNN, lanes: Lanes, tried: list[Execution]) -> ExecutionChoice:
    """What is taken of these unmeasured: the same on every day.

    The persistent kernel was faster than cuDNN wherever it ran: docs/kernels.md.
    """
    others = [execution for execution in tried if execution.kernel != "persistent"]
    own = next((execution for execution in tried if execution.kernel == "persistent"), None)
    if own is None or not others:
        return ExecutionChoice(tried[0], {})
    try:
        run, failed = forward_backward(model, lanes, own)
        run()
        launch.check(failed)
    except DeviceError as error:
        return ExecutionChoice(others[0], {}, str(error))
    return ExecutionChoice(own, {})


def _circumstances(model: CharRNN, lanes: Lanes) -> list[object]:
    """What the times depend on beside the execution."""
    config = model.config
    return [
        torch.cuda.get_device_name(model.head.weight.device),
        torch.__version__,
        torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
        *(config.cell, config.num_layers, config.hidden_size, config.vocabulary_size),
        *(config.input, config.embedding_size, any(config.unit_dropout), lanes.has_separators),
        lanes.sequence_length,
    ]


def _milliseconds(model: CharRNN, lanes: Lanes, execution: Execution) -> float:
    """The median time of a forward and backward pass.

    Raises:
        RuntimeError, DeviceError: it cannot run here.
    """
    device = model.head.weight.device
    run, failed = forward_backward(model, lanes, execution)
    timing = interleave({"": lambda: run}, device, rounds=1, calls=_CALLS)[""]
    launch.check(failed)
    return timing.quantile(0.5)


def forward_backward(
    model: CharRNN, lanes: Lanes, execution: Execution
) -> tuple[Recording, Tensor | None]:
    """The forward and backward pass over one window, as a CUDA graph, and `Network.failed`."""
    device = model.head.weight.device
    shape = (lanes.sequence_length, execution.lanes)
    network = model.leaves(
        dtype=execution.dtype, kernel=execution.kernel, separators=lanes.has_separators
    )
    leaves = network.tensors()
    symbols = torch.zeros(shape, dtype=torch.int64, device=device)
    resets = torch.zeros(shape, dtype=torch.bool, device=device)
    state = model.zero_state(execution.lanes)

    def run() -> None:
        logits, _ = network(symbols, state, None, resets if lanes.has_separators else None)
        torch.autograd.grad(cross_entropy(logits, symbols), leaves)

    return Recording(run, device), network.failed


def why_not_persistent(model: CharRNN) -> str | None:
    """Why model.backend=auto leaves the persistent kernel out on this GPU; None if it does not."""
    config = model.config
    asked = config.backend == "auto" and has_persistent_shape(config) and _on_gpu(model)
    if asked and (reason := _refusal(model)):
        return f"cuDNN runs the layers: the persistent kernel {reason}"
    return None


def why_in_steps(model: CharRNN, execution: Execution) -> str | None:
    """Why layers run step by step on this processor; None if they do not."""
    cell, hidden = model.config.cell, model.config.hidden_size
    device = model.head.weight.device
    own = execution.kernel == "unrolled"
    if own or not fused.has_wrong_gradients(cell, hidden, device, execution.dtype):
        return None
    return (
        f"this PyTorch computes wrong gradients for layers of {hidden} units in bf16 on this "
        "processor: they run step by step, which is right and slower"
    )


def width_advice(model: CharRNN) -> str | None:
    """A hidden size near the model's that this GPU's fast kernels take; None if its own will do."""
    hidden = model.config.hidden_size
    if hidden % TENSOR_CORE == 0 or not _on_gpu(model) or model.config.backend == "unrolled":
        return None
    return (
        f"model.hidden_size={hidden}: the fast kernels of this GPU take multiples of "
        f"{TENSOR_CORE}; the nearest is {nearest(hidden, TENSOR_CORE)}"
    )


def _check_persistent(model: CharRNN, precisions: Collection[str]) -> None:
    """Raise ConfigError or DeviceError if the persistent kernel cannot run, though asked for."""
    config = model.config
    if not has_persistent_shape(config):
        raise ConfigError(
            "model.backend=persistent runs an LSTM whose model.hidden_size is a multiple of 64 up "
            f"to 512, not {config.cell} with {config.hidden_size}: use model.backend=cudnn"
        )
    if "fp16" not in precisions and _on_gpu(model):
        raise ConfigError("model.backend=persistent computes in fp16: leave train.precision=auto")
    if reason := _refusal(model):
        raise DeviceError(f"model.backend=persistent {reason}: use model.backend=cudnn")


def _refusal(model: CharRNN) -> str | None:
    return launch.refusal(model.head.weight.device, model.config.hidden_size)


def _computes(execution: Execution) -> bool:
    """Whether the kernel has this precision."""
    return execution.kernel != "persistent" or execution.precision == "fp16"


def _on_gpu(model: CharRNN) -> bool:
    return model.head.weight.device.type == "cuda"


def saved_execution(values: Mapping[str, Any] | None) -> Execution | None:
    """The execution in the values that a trainer's `state` returned, or 0.1.0's, if any."""
    values = values or {}
    record: Any = values.get("execution", values.get("plan"))
    try:
        return Execution.from_record(record)
    except (TypeError, ValueError):
        return None
