"""How well a model predicts data: nats of every symbol, under a protocol.

Each protocol is a table of segments (S, 3) of target positions: from `warm` on the state is built
from zero, from `begin` to `end` the predictions count. Every symbol counts exactly once.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from seqkit.data.corpus import Part
from seqkit.device import DTYPES
from seqkit.model.char_rnn import CharRNN
from seqkit.model.loss import cross_entropy
from seqkit.model.network import Network, State
from seqkit.symbols import IGNORED, Integers

_STEPS = 128  # T of one call
_LANES = 64  # B of one call, at most
_WARM = 256  # symbols after which an LSTM's state hardly depends on where it began


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
        return self.loss / math.log(2)


def streaming(part: Part) -> Integers:
    """Each document from the zero state to its end, the state carried all the way."""
    ends = np.append(part.starts[1:], len(part))
    return np.stack([part.starts, part.starts, ends], axis=1)


def windowed(part: Part, window: int) -> Integers:
    """Windows of `window` symbols, each from the zero state."""
    pieces = [_cut(begin, end, window, 0) for begin, end in _documents(part)]
    return np.concatenate(pieces)


def laned(part: Part) -> Integers:
    """Streaming, but cut into lanes that each warm up on the symbols before them.

    This is how training validates: as the lanes run side by side it takes a fraction of the time
    of `streaming`, which it approximates as well as the network forgets what is further back.
    """
    length = max(-(-len(part) // _LANES), _WARM)
    pieces = [_cut(begin, end, length, _WARM) for begin, end in _documents(part)]
    return np.concatenate(pieces)


def _documents(part: Part) -> list[tuple[int, int]]:
    ends = [*part.starts[1:].tolist(), len(part)]
    return list(zip(part.starts.tolist(), ends, strict=True))


def _cut(begin: int, end: int, length: int, warm: int) -> Integers:
    begins = np.arange(begin, end, length, dtype=np.int64)
    return np.stack(
        [np.maximum(begins - warm, begin), begins, np.minimum(begins + length, end)], axis=1
    )


@torch.inference_mode()
def evaluate(
    model: CharRNN,
    part: Part,
    start: int,
    segments: Integers,
    precision: str = "fp32",
    watch: Callable[[int], None] = lambda done: None,
) -> Score:
    """Score a part under a protocol.

    Args:
        model: on the device where it is to run.
        part: the symbols; at least one.
        start: the codec's start symbol, the input before each document.
        segments: what `streaming`, `windowed` or `laned` returned for this part.
        precision: of the matrix products.
        watch: told now and then how many symbols have been read.
    """
    network = model.network(DTYPES[precision])
    done = 0
    order = np.argsort(segments[:, 0] - segments[:, 2], kind="stable")
    nats = 0.0
    for first in range(0, len(order), _LANES):
        lanes = segments[order[first : first + _LANES]]
        state = model.zero_state(len(lanes))
        for more, read in _score(network, state, part, start, lanes):
            nats += more
            done += read
            watch(done)
    return Score(nats, int((segments[:, 2] - segments[:, 1]).sum()))


def _score(
    network: Network, state: State, part: Part, start: int, segments: Integers
) -> Iterator[tuple[float, int]]:
    """Nats and count of the predictions, one chunk of steps after the other."""
    device = state.h.device
    warm, begin, end = segments.T
    first = np.isin(warm, part.starts)
    for offset in range(0, int((end - warm).max()), _STEPS):
        steps = min(_STEPS, int((end - warm).max()) - offset)
        places = warm + offset + np.arange(steps)[:, None]
        inputs = part.symbols[np.clip(places - 1, 0, len(part) - 1)].astype(np.int64)
        if offset == 0:
            inputs[0, first] = start
        targets = part.symbols[np.minimum(places, len(part) - 1)].astype(np.int64)
        targets[(places < begin) | (places >= end)] = IGNORED
        logits, state = network(torch.from_numpy(inputs).to(device), state)
        nats = cross_entropy(logits, torch.from_numpy(targets).to(device), "sum")
        yield float(nats), int((targets != IGNORED).sum())
