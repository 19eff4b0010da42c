"""Which way of running a network is the fastest on this GPU: measured, not guessed."""

import contextlib
import dataclasses
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from seqkit import disk
from seqkit.config import ModelConfig
from seqkit.data.lanes import Lanes
from seqkit.device import DTYPES
from seqkit.errors import OutputError
from seqkit.kernels.graph import Recording
from seqkit.kernels.timing import Build, interleave
from seqkit.model.char_rnn import CharRNN, layer_weights
from seqkit.model.execution import Execution, usable_kernels
from seqkit.model.loss import cross_entropy
from seqkit.model.padding import TENSOR_CORE, nearest, round_up

_CALLS = 5  # of every candidate
_FORMAT = 1  # of the remembered times


@dataclasses.dataclass(frozen=True)
class ExecutionChoice:
    """The execution that was chosen, and what was measured to choose it.

    `milliseconds` are those of a forward and backward pass, by candidate; empty without a search.
    """

    execution: Execution
    milliseconds: dict[Execution, float]

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
    """
    kernels = usable_kernels(model.config, separators=lanes.has_separators)
    if model.config.num_layers == 1 or not _on_gpu(model):
        kernels = kernels[:1]  # there is nothing to stack, or to gain from it
    count = round_up(lanes.batch_size, TENSOR_CORE if _on_gpu(model) else 1)
    return [Execution(kernel, precision, count) for precision in precisions for kernel in kernels]


def choose_execution(
    model: CharRNN, lanes: Lanes, precisions: list[str], cache: Path, search: bool = True
) -> ExecutionChoice:
    """The fastest candidate, from a short search on a GPU or from the cache; else the plainest.

    `cache` is the folder in which times are remembered, by all that they depend on.
    """
    tried = candidates(model, lanes, precisions)
    cut = lanes.has_separators and not model.config.resets_in_one_call
    if not search or not _on_gpu(model) or model.config.backend == "unrolled" or cut:
        return ExecutionChoice(tried[0], {})
    place = cache / "plans.json"
    key = json.dumps(
        [_FORMAT, *_circumstances(model, lanes), [str(execution) for execution in tried]]
    )
    known = _read(place)
    if key not in known:
        known[key] = dict(_times(model, lanes, tried))
        with contextlib.suppress(OutputError), disk.atomic_write(place) as stream:
            stream.write(json.dumps(known, indent=1).encode())
    milliseconds = known[key]
    if not milliseconds:
        return ExecutionChoice(tried[0], {})
    timed = {e: milliseconds[str(e)] for e in tried if str(e) in milliseconds}
    return ExecutionChoice(min(timed, key=lambda e: timed[e]), timed)


def _times(
    model: CharRNN, lanes: Lanes, executions: list[Execution]
) -> Iterator[tuple[str, float]]:
    """Milliseconds of every execution that this GPU can run."""
    device = model.head.weight.device
    for execution in executions:  # one at a time: together they would need the memory of all
        name = str(execution)
        with contextlib.suppress(RuntimeError):
            row = {name: _builder(model, lanes, execution)}
            timing = interleave(row, device, rounds=1, calls=_CALLS)[name]
            yield name, timing.quantile(0.5)


def _on_gpu(model: CharRNN) -> bool:
    return model.head.weight.device.type == "cuda"


def missed(model: CharRNN) -> str | None:
    """Which rule of a GPU's fast kernels a model's shape misses, and the nearest that does not."""
    hidden = model.config.hidden_size
    if hidden % TENSOR_CORE == 0 or not _on_gpu(model) or model.config.backend == "unrolled":
        return None
    return (
        f"model.hidden_size={hidden}: the fast kernels of this GPU take multiples of "
        f"{TENSOR_CORE}; the nearest is {nearest(hidden, TENSOR_CORE)}"
    )


def fitting_lanes(
    config: ModelConfig, sequence_length: int, precision: str, device: torch.device
) -> int:
    """The number of lanes that a GPU's memory holds in training, by estimate; 0 for none.

    A fused layer keeps about 13 values for each of its units, and the head 10 bytes for each
    logit, per step and lane; a parameter takes 24 bytes with its gradient, moments and copy.
    """
    parameters = layer_weights(config) + config.vocabulary_size * config.hidden_size
    values = 13 * config.num_layers * config.hidden_size + config.input_width
    a_place = DTYPES[precision].itemsize * values + 10 * config.vocabulary_size
    left = 0.9 * torch.cuda.get_device_properties(device).total_memory - 24 * parameters
    return max(0, int(left / (a_place * sequence_length)) // TENSOR_CORE * TENSOR_CORE)


def _circumstances(model: CharRNN, lanes: Lanes) -> list[object]:
    config = model.config
    return [
        torch.cuda.get_device_name(model.head.weight.device),
        torch.__version__,
        torch.backends.cudnn.version(),  # type: ignore[no-untyped-call]
        *(config.cell, config.num_layers, config.hidden_size, config.vocabulary_size),
        *(config.input, config.embedding_size, bool(config.dropout), lanes.has_separators),
        *(lanes.batch_size, lanes.sequence_length),
    ]


def _builder(model: CharRNN, lanes: Lanes, execution: Execution) -> Build:
    """What makes the forward and backward pass as a CUDA graph."""

    def build() -> Callable[[], object]:
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

        return Recording(run, device)

    return build


def _read(place: Path) -> dict[str, dict[str, float]]:
    """The remembered times; what is not such a table counts as nothing."""
    try:
        known = json.loads(place.read_bytes())
        return {
            key: {name: float(time) for name, time in times.items()} for key, times in known.items()
        }
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
