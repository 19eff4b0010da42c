"""How well a model predicts data: the nats of every symbol, and their sum.

The nats of a symbol are -ln p, p being the probability that the model gave it.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seqkit import memory
from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.device import DTYPES
from seqkit.evaluation.protocols import LANES
from seqkit.model.char_rnn import CharRNN, count_parameters
from seqkit.model.loss import cross_entropy
from seqkit.symbols import IGNORED, Floats, Integers

_STEPS = 128  # T of one call
_UNIT_BYTES, _LOGIT_BYTES = 8, 8  # for each of its steps and lanes: outputs, logits and shares


@dataclass(frozen=True)
class Score:
    """The sum of nats over `symbols` predictions."""

    nats: float
    symbols: int

    @property
    def loss(self) -> float:
        """Mean nats per symbol."""
        return self.nats / self.symbols

    @property
    def bits_per_symbol(self) -> float:
        """Mean bits per symbol."""
        return self.loss / math.log(2)


def require_memory(model: ModelConfig, segments: Integers, device: torch.device) -> None:
    """Refuse an evaluation that cannot fit: the network, and what it computes in one call.

    Raises:
        DeviceError: more is needed than is free.
    """
    places = min(LANES, len(segments)) * _STEPS
    call = places * (_UNIT_BYTES * model.hidden_size + _LOGIT_BYTES * model.vocabulary_size)
    advice = "Try device=cpu." if device.type == "cuda" else ""
    needed, free = 4 * count_parameters(model) + call, memory.free_bytes(device)
    memory.require(needed, free, "this evaluation", lambda: advice, device)


@torch.inference_mode()
def evaluate(
    model: CharRNN,
    part: Part,
    *,
    start: int,
    segments: Integers,
    precision: str = "fp32",
    watch: Callable[[int], None] = lambda done: None,
) -> Score:
    """The score of a part under a protocol.

    Args:
        model: on the device where it is to run.
        part: the symbols; at least one.
        start: the codec's start symbol, the input before each document.
        segments: what a function of `protocols` returned for this part.
        precision: of the matrix products.
        watch: called after every chunk with the symbols scored so far.
    """
    total, done = 0.0, 0
    for chunk in _chunks(model, part, start, segments, precision):
        total += float(chunk.nats.sum())  # on the device: one number is read back
        done += int(chunk.counted.sum())
        watch(done)
    return Score(total, done)


@torch.inference_mode()
def nats(
    model: CharRNN, part: Part, *, start: int, segments: Integers, precision: str = "fp32"
) -> Iterator[tuple[Integers, Floats]]:
    """Places (n,) in the part and the nats (n,) of their symbols, chunk by chunk.

    The arguments are those of `evaluate`. Every place comes once, in no order that means anything.
    """
    for chunk in _chunks(model, part, start, segments, precision):
        yield chunk.places[chunk.counted], chunk.nats.cpu().numpy()[chunk.counted]


@dataclass(frozen=True)
class _Chunk:
    """Some steps of some lanes, all (T, B); nats are 0 where `counted` is false."""

    places: Integers
    counted: npt.NDArray[np.bool_]
    nats: Tensor


def _chunks(
    model: CharRNN, part: Part, start: int, segments: Integers, precision: str
) -> Iterator[_Chunk]:
    """Run the segments, the longest first, so that lanes that run together end together."""
    network = model.network(dtype=DTYPES[precision])
    device = model.head.weight.device
    last = len(part) - 1
    order = np.argsort(segments[:, 0] - segments[:, 2], kind="stable")
    for group in range(0, len(order), LANES):
        warm, begin, end = segments[order[group : group + LANES]].T
        document = np.searchsorted(part.starts, warm, side="right") - 1
        first = part.starts[document] == warm
        state = model.zero_state(len(warm))
        length = int((end - warm).max())
        for offset in range(0, length, _STEPS):
            places = warm + np.arange(offset, min(offset + _STEPS, length))[:, None]
            inputs = part.symbols[np.clip(places - 1, 0, last)].astype(np.int64)
            if offset == 0:
                inputs[0, first] = start
            counted = (places >= begin) & (places < end)
            targets = part.symbols[np.minimum(places, last)].astype(np.int64)
            targets[~counted] = IGNORED
            logits, state = network(torch.from_numpy(inputs).to(device), state)
            each = cross_entropy(logits, torch.from_numpy(targets).to(device), "none")
            yield _Chunk(places, counted, each)
