"""Which way of running a network is the fastest on this GPU: measured, not guessed."""

import contextlib
import dataclasses
import itertools
import json
from collections.abc import Callable
from pathlib import Path

import torch

from seqkit import paths
from seqkit.config import ModelConfig
from seqkit.device import DTYPES, Recording
from seqkit.errors import OutputError
from seqkit.lanes import Lanes
from seqkit.model import CharRNN, cross_entropy
from seqkit.recurrence import GATES
from seqkit.step import Plan
from seqkit.timing import Build, interleave

_EIGHT = 8  # tensor cores want lanes, and hidden units, in multiples of this
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


def default(model: CharRNN, lanes: Lanes, precision: str) -> Plan:
    """The plan without a search; precision is fp32, bf16 or fp16."""
    return Plan(precision, False, _candidate_lanes(model, lanes)[0])


def choose(model: CharRNN, lanes: Lanes, precisions: list[str], cache: Path) -> Choice:
    """The fastest plan for a model on a GPU, from a short search or from the cache.

    Args:
        model: on its GPU.
        lanes: what it is to be trained on.
        precisions: those that are allowed.
        cache: the folder in which times are remembered, by all that they depend on.
    """
    plans = _candidates(model, lanes, precisions)
    place = cache / "plans.json"
    key = json.dumps([_FORMAT, *_circumstances(model, lanes), [str(plan) for plan in plans]])
    known = _read(place)
    if key not in known:
        device = model.head.weight.device
        known[key] = {}
        for plan in plans:  # one at a time: together they would need the memory of all
            row = {str(plan): _builder(model, lanes, plan)}
            timing = interleave(row, device, rounds=1, calls=_CALLS)[str(plan)]
            known[key][str(plan)] = timing.quantile(0.5)
        with contextlib.suppress(OutputError), paths.atomic_write(place) as stream:
            stream.write(json.dumps(known, indent=1).encode())
    milliseconds = known[key]
    return Choice(min(plans, key=lambda plan: milliseconds[str(plan)]), milliseconds)


def missed(model: CharRNN) -> str | None:
    """Which rule of the fast kernels a model's shape misses, and the nearest that does not."""
    hidden = model.config.hidden_size
    if hidden % _EIGHT == 0:
        return None
    nearest = max(_EIGHT, (hidden + _EIGHT // 2) // _EIGHT * _EIGHT)
    return (
        f"model.hidden_size={hidden}: the fast kernels of this GPU take multiples of {_EIGHT}; "
        f"the nearest is {nearest}"
    )


def fitting_lanes(config: ModelConfig, sequence_length: int, device: torch.device) -> int:
    """The number of lanes that a GPU's memory holds in training, by estimate; 0 for none.

    In 16 bits a layer keeps about 13 values for each of its units, and the head 10 bytes for each
    logit, per step and lane; a parameter takes 24 bytes with its gradient, moments and copy.
    """
    width = config.embedding_size if config.input == "embedding" else config.vocabulary_size
    hidden, layers = config.hidden_size, config.num_layers
    gates = GATES[config.cell]
    parameters = gates * hidden * (width + (2 * layers - 1) * hidden)
    parameters += config.vocabulary_size * hidden
    a_place = 26 * layers * hidden + 10 * config.vocabulary_size + 2 * width
    left = 0.9 * torch.cuda.get_device_properties(device).total_memory - 24 * parameters
    return max(0, int(left / (a_place * sequence_length)) // _EIGHT * _EIGHT)


def _candidate_lanes(model: CharRNN, lanes: Lanes) -> list[int]:
    batch = lanes.batch_size
    if model.head.weight.device.type != "cuda":
        return [batch]
    return [batch + -batch % _EIGHT]


def _candidates(model: CharRNN, lanes: Lanes, precisions: list[str]) -> list[Plan]:
    config = model.config
    stackable = config.num_layers > 1 and not config.dropout and not lanes.has_separators
    calls = [False, True] if stackable else [False]
    sizes = _candidate_lanes(model, lanes)
    return [Plan(*parts) for parts in itertools.product(precisions, calls, sizes)]


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
        with torch.no_grad():
            network = model.network(DTYPES[plan.precision], lanes.has_separators, plan.one_call)
        leaves = [values.detach().requires_grad_() for values in network.tensors()]
        network = network.with_tensors(leaves)
        symbols = torch.zeros(shape, dtype=torch.int64, device=device)
        resets = torch.zeros(shape, dtype=torch.bool, device=device)
        state = model.zero_state(plan.lanes)

        def run() -> None:
            logits, _ = network(symbols, state, None, resets if lanes.has_separators else None)
            torch.autograd.grad(cross_entropy(logits, symbols), leaves)

        return Recording(run, device)

    return build


def _read(place: Path) -> dict[str, dict[str, float]]:
    try:
        known = json.loads(place.read_bytes())
    except (OSError, ValueError):
        return {}
    return known if isinstance(known, dict) else {}
