"""How well a model predicts data: the nats of every symbol, and what they come to.

From which state each symbol is predicted, a protocol says. It is a table of segments (S, 3), each a
row (warm, begin, end) of places in a part: the state is zero at `warm`, and the predictions from
`begin` to `end` count. Every symbol of the part counts exactly once; with `spread`, some do. No
segment begins within a frame of sound.

The nats of a symbol are -ln p, p being the probability that the model gave it. They are added up
block by block while they are found.
"""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seqkit.data.corpus import Part
from seqkit.foundation.errors import CheckpointError
from seqkit.foundation.machine import shared_cores
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import RunnableWeights, cross_entropy, require_finished
from seqkit.model.state import State
from seqkit.symbols import IGNORED, Floats, Integers

CHUNK, LANES = 4096, 64
"""Steps of one call, and segments that are scored side by side, at most."""
WARM = 256
"""Symbols after which an LSTM's state hardly depends on where it began."""

_SYMBOLS = 8192  # of one call, in all lanes, and
_SYMBOLS_ON_GPU, _LOGITS = 32768, 1 << 26  # if so many logits are not more
_FEW = 3  # lanes that a CPU runs faster one after the other than side by side


def require_numbers(nats: float | Floats, *, learning: bool = False) -> None:
    """Refuse the surprise of symbols if it is no number; `learning` may be the reason, too.

    Raises CheckpointError: the network's weights are not finite, or overflow.
    """
    if not np.isfinite(nats).all():
        also = ", or it learnt too fast from what it read" if learning else ""
        raise CheckpointError(
            "the checkpoint's weights give no numbers: they are not finite, or so large that they "
            f"overflow{also}: use another checkpoint"
        )


def streaming(part: Part) -> Integers:
    """Each document from the zero state to its end, the state carried all the way."""
    ends = np.append(part.starts[1:], len(part))
    return np.stack([part.starts, part.starts, ends], axis=1)


def windowed(part: Part, window: int) -> Integers:
    """Windows of `window` symbols, each from the zero state; within a frame none ends."""
    return cut(streaming(part), part.whole_frames(window), warm=0)


def warmed(part: Part) -> Integers:
    """Streaming, approximated: segments that run side by side, each warmed up on 256 symbols.

    Training validates like this. It takes a fraction of the time of `streaming` and agrees with it
    as far as the network forgets what lies further back.
    """
    length = max(-(-len(part) // LANES), WARM)
    warm = part.whole_frames(WARM)
    return cut(streaming(part), part.whole_frames(length), warm=warm)


def spread(part: Part, symbols: int) -> Integers:
    """As `warmed`, of about so many symbols: equal stretches at equal distances over the part."""
    stretches = min(max(symbols // WARM, 1), LANES)
    frame, warm = part.frame, part.whole_frames(WARM)
    length = max(symbols // stretches // frame, 1) * frame
    rows = []
    for number in range(stretches):
        begin = number * len(part) // stretches // frame * frame
        end = min(begin + length, len(part))
        first = int(np.searchsorted(part.starts, begin, side="right")) - 1
        last = int(np.searchsorted(part.starts, end, side="left"))
        starts = part.starts[first:last]  # of the documents that it has a share in
        begins = np.maximum(starts, begin)
        ends = np.append(begins[1:], end)
        rows.append(np.stack([np.maximum(begins - warm, starts), begins, ends], axis=1))
    return np.concatenate(rows)


def cut(documents: Integers, length: int, warm: int) -> Integers:
    """Documents (S, 3) in segments of `length`, warmed up on so many symbols of the same one."""
    first, _, end = documents.T
    counts = -(-(end - first) // length)
    first, end = np.repeat(first, counts), np.repeat(end, counts)
    number = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = first + number * length
    ends = np.minimum(begins + length, end)
    return np.stack([np.maximum(begins - warm, first), begins, ends], axis=1)


class Score(NamedTuple):
    """The nats of all symbols of a part."""

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


def total(part: Part, found: Iterable[tuple[Integers, Floats]]) -> Score:
    """The score of a part: its places (n,) and the nats (n,) of their symbols, in any order."""
    return Score(sum(float(nats.sum(dtype=np.float64)) for _, nats in found), len(part))


@dataclass(frozen=True)
class Scored:
    """What is scored, and by which model.

    model: on the device where it is to run.
    part: the symbols; at least one.
    start: the codec's start symbol, the input before each document.
    watch: called after every chunk with the symbols scored so far.
    """

    model: CharRNN
    part: Part
    start: int
    watch: Callable[[int], None] = lambda done: None


@torch.inference_mode()
def evaluate(scored: Scored, segments: Integers) -> Score:
    """The score of a part in the segments that a protocol has for it."""
    return total(scored.part, (chunk.counted_nats() for chunk in chunks(scored, segments)))


@dataclass(frozen=True)
class Chunk:
    """Some steps of some segments that ran side by side.

    segments (B,): their rows in the table.
    places, counted, nats (T, B): of each symbol the place in the part, whether it counts, and its
        nats, 0 where it does not.
    targets (T, B), logits (T, B, V): what the nats were made of.
    after: the state after the last step.
    """

    segments: Integers
    places: Integers
    counted: npt.NDArray[np.bool_]
    nats: Tensor
    targets: Tensor
    logits: Tensor
    after: State

    def counted_nats(self) -> tuple[Integers, Floats]:
        """Places (n,) and nats (n,) of the symbols that count."""
        return self.places[self.counted], self.nats.cpu().numpy()[self.counted]


@torch.inference_mode()
def chunks(
    scored: Scored,
    segments: Integers,
    network: RunnableWeights | None = None,
    begin_state: State | None = None,
) -> Iterator[Chunk]:
    """Run segments, those side by side that take about as long.

    A chunk has as many steps as a power of two says, and no more than `CHUNK`.

    Args:
        scored: the model and the part.
        segments: as in `evaluate`.
        network: the model's, in another precision than fp32 or for another kernel than the
            plainest.
        begin_state: (L, 1, H), of the table's first segment; by default zeros.

    Raises DeviceError: the persistent kernel gave up.
    """
    model, part, device = scored.model, scored.part, scored.model.head.weight.device
    network = network or model.runnable_weights(dtype=torch.float32)
    last, done, together = len(part) - 1, 0, _SYMBOLS
    if device.type == "cuda":
        together = max(together, min(_SYMBOLS_ON_GPU, _LOGITS // model.config.vocabulary_size))
    rows = np.argsort(segments[:, 0] - segments[:, 2], kind="stable")  # the longest first
    for group in _groups(rows, device):
        warm, begin, end = segments[group].T
        document = np.searchsorted(part.starts, warm, side="right") - 1
        first = part.starts[document] == warm
        state = model.zero_state(len(group))
        if begin_state is not None and len(segments) == 1:
            state = begin_state.on(device)  # within a frame, it may be
        elif begin_state is not None:
            for values, begun in zip(state, begin_state, strict=True):
                values[:, group == 0] = begun.to(values)
        length = int((end - warm).max())
        steps = min(1 << (together // len(group)).bit_length() - 1, CHUNK)
        for offset in range(0, length, steps):
            places = warm + np.arange(offset, min(offset + steps, length))[:, None]
            inputs = part.symbols[np.clip(places - 1, 0, last)].astype(np.int64)
            if offset == 0:
                inputs[0, first] = scored.start
            counted = (places >= begin) & (places < end)
            targets = part.symbols[np.minimum(places, last)].astype(np.int64)
            targets[~counted] = IGNORED
            labels = labels_at(part, np.minimum(places, last), device)
            fed, wanted = (torch.from_numpy(own).to(device) for own in (inputs, targets))
            with shared_cores(device):
                logits, state = network(fed, state, labels=labels)
                if model.config.ends:  # which are no symbols of the part
                    logits = logits[..., : model.config.symbols]
                each = cross_entropy(logits, wanted, "none")
            yield Chunk(group, places, counted, each, wanted, logits, state)
            done += int(counted.sum())
            scored.watch(done)
    require_finished(network.layers.failed)


def labels_at(part: Part, places: Integers, device: torch.device) -> Tensor | None:
    """`Part.labels_at` on a device."""
    labels = part.labels_at(places)
    return None if labels is None else torch.from_numpy(labels).to(device)


def _groups(rows: Integers, device: torch.device) -> Iterator[Integers]:
    """The rows that run side by side."""
    for first in range(0, len(rows), LANES):
        group = rows[first : first + LANES]
        together = len(group) > _FEW or device.type == "cuda"
        yield from [group] if together else np.split(group, len(group))
