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
from seqkit.model.loss import cross_entropy
from seqkit.model.padding import TENSOR_CORE, nearest, round_up
from seqkit.training.step import Plan

_CALLS = 5  # of every candidate
_FORMAT = 1  # of the remembered times


@dataclasses.dataclass(frozen=True)
class Choice:
    """The plan that was chosen, and the milliseconds of every candidate, forward and backward."""

    plan: Plan
    milliseconds: dict[str, float]

    def __str__(self) -> str:
        others = ", ".join(
            f"{name} {time:.2f} ms"
            for name, time in self.milliseconds.items()
            if name != str(self.plan)
        )
        own = self.milliseconds.get(str(self.plan))
        return str(self.plan) + (f" {own:.2f} ms (measured; {others})" if own else "")


def candidates(model: CharRNN, lanes: Lanes, precisions: list[str]) -> list[Plan]:
    """The plans that a training may run by, the plainest first.

    Args:
        model: on its device.
        lanes: what it is to be trained on.
        precisions: those that are allowed.
    """
    config = model.config
    whole = config.backend == "cudnn" and not config.dropout and not lanes.has_separators
    calls = [False, True] if config.num_layers > 1 and whole and _on_gpu(model) else [False]
    count = round_up(lanes.batch_size, TENSOR_CORE if _on_gpu(model) else 1)
    return [Plan(precision, call, count) for precision in precisions for call in calls]


def choose(
    model: CharRNN, lanes: Lanes, precisions: list[str], cache: Path, search: bool = True
) -> Choice:
    """The fastest candidate, from a short search on a GPU or from the cache; else the plainest.

    `cache` is the folder in which times are remembered, by all that they depend on.
    """
    plans = candidates(model, lanes, precisions)
    cut = lanes.has_separators and not model.config.resets_in_one_call
    if not search or not _on_gpu(model) or model.config.backend == "unrolled" or cut:
        return Choice(plans[0], {})
    place = cache / "plans.json"
    key = json.dumps([_FORMAT, *_circumstances(model, lanes), [str(plan) for plan in plans]])
    known = _read(place)
    if key not in known:
        known[key] = dict(_times(model, lanes, plans))
        with contextlib.suppress(OutputError), disk.atomic_write(place) as stream:
            stream.write(json.dumps(known, indent=1).encode())
    milliseconds = known[key]
    if not milliseconds:
        return Choice(plans[0], {})
    timed = [plan for plan in plans if str(plan) in milliseconds]
    return Choice(min(timed, key=lambda plan: milliseconds[str(plan)]), milliseconds)


def _times(model: CharRNN, lanes: Lanes, plans: list[Plan]) -> Iterator[tuple[str, float]]:
    """Milliseconds of every plan that this GPU can run."""
    device = model.head.weight.device
    for plan in plans:  # one at a time: together they would need the memory of all
        name = str(plan)
        with contextlib.suppress(RuntimeError):
            row = {name: _builder(model, lanes, plan)}
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


def _builder(model: CharRNN, lanes: Lanes, plan: Plan) -> Build:
    """What makes the forward and backward pass as a CUDA graph."""

    def build() -> Callable[[], object]:
        device = model.head.weight.device
        shape = (lanes.sequence_length, plan.lanes)
        network = model.leaves(DTYPES[plan.precision], lanes.has_separators, plan.one_call)
        leaves = network.tensors()
        symbols = torch.zeros(shape, dtype=torch.int64, device=device)
        resets = torch.zeros(shape, dtype=torch.bool, device=device)
        state = model.zero_state(plan.lanes)

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
