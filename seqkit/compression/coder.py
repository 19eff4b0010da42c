"""Blocks of symbols to words and back: lanes of a model side by side, and the coder behind them.

A block of N symbols is cut into B lanes of equal length, and each is read from the zero state. That
costs about 20 bits a lane, and a step of many lanes takes little longer than one of a single lane.

What decodes a file has to meet the very numbers that its encoder met, to the last bit. So both make
the same steps with the same number of lanes, precision and threads, and only integers leave them.

A model may go on learning, as in dynamic evaluation, from every window of all lanes: from symbols
that an encoder has just coded and a decoder has just decoded, so that both make the same updates.
"""

import dataclasses
import functools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from seqkit.compression import rans
from seqkit.compression.rans import TOTAL, Decoder, States, Words
from seqkit.config import DynamicConfig
from seqkit.evaluation.dynamic import Learner
from seqkit.generation.engines.pytorch import Carried, PreparedStep
from seqkit.kernels.graph import GraphedCall
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Integers, Symbols, symbol_dtype

MOST_WAYS = 16
"""States of the entropy coder. Each costs 6 bytes a block."""
_WINDOW = 32  # steps between two words about the progress, without learning
_PROBE_WINDOWS = 2
_STRIDE = 7919  # a prime, so that the probe's symbols are many different ones

Watch = Callable[[float], None]
"""Told what share of a block is done."""


class BlockCoder(ABC):
    """Codes blocks of symbols in lanes by what a subclass predicts.

    Attributes:
        ways: W, the states of the entropy coder.
    """

    def __init__(self, size: int, lanes: int, probed: int) -> None:
        """For V symbols and B lanes, a power of two; the probe is of so many steps."""
        self.ways = min(lanes, MOST_WAYS)
        self._size, self._lanes, self._probed = size, lanes, probed

    @abstractmethod
    def forget(self) -> None:
        """Go on as if no block had been coded yet."""

    @abstractmethod
    def _begin(self) -> None:
        """Begin a block, with what was learnt so far."""

    @abstractmethod
    def _predicted(self, index: int) -> Integers:
        """The bounds (B, V + 1) of the symbols of a step."""

    @abstractmethod
    def _follow(self, symbols: Tensor, index: int, watch: Watch) -> None:
        """Go on after a step, of whose block (T, B) the symbols are known so far."""

    def probe(self) -> bytes:
        """The spans of some symbols: other arithmetic gives other bytes."""
        count = self._probed * self._lanes
        spans = self._spans(np.arange(count) * _STRIDE % self._size, lambda share: None)
        self.forget()
        return b"".join(values.tobytes() for values in spans)

    def encode(self, symbols: Symbols, watch: Watch) -> tuple[States, Words]:
        """The states (W,) and words (M,) of symbols (N,), N at least 1."""
        lowers, widths = self._spans(symbols.astype(np.int64), watch)
        if rest := len(symbols) % self._lanes:
            lowers[-1, rest:], widths[-1, rest:] = 0, TOTAL  # nothing to code
        return rans.encode(lowers.reshape(-1, self.ways), widths.reshape(-1, self.ways))

    def decode(self, length: int, states: States, words: Words, watch: Watch) -> Symbols:
        """The symbols (N,) of a block, given N and what `encode` returned."""
        rows = np.empty((-(-length // self._lanes), self._lanes), np.int64)
        decoder = Decoder(states, words)
        self._begin()
        for index, row in enumerate(rows):
            bounds = self._predicted(index)
            for lane in range(0, self._lanes, self.ways):
                part = slice(lane, lane + self.ways)
                row[part] = decoder.take(bounds[part])
            self._follow(torch.from_numpy(rows), index, watch)
        return from_lanes(rows, length).astype(symbol_dtype(self._size))

    def _spans(self, symbols: Integers, watch: Watch) -> tuple[Integers, Integers]:
        """Where the span of each symbol begins, and its width: (T, B) each."""
        rows, lanes = to_lanes(symbols, self._lanes), np.arange(self._lanes)
        begins, ends = np.empty_like(rows), np.empty_like(rows)
        self._begin()
        for index, row in enumerate(rows):
            bounds = self._predicted(index)
            begins[index], ends[index] = bounds[lanes, row], bounds[lanes, row + 1]
            self._follow(torch.from_numpy(rows), index, watch)
        return begins, ends - begins


class Coder(BlockCoder):
    """Codes blocks of symbols with a model, as its device, threads and `dtype` round."""

    def __init__(
        self,
        model: CharRNN,
        size: int,
        *,
        start: int,
        lanes: int,
        dtype: torch.dtype,
        learn: DynamicConfig | None = None,
    ) -> None:
        """Prepare a model to code.

        Args:
            model: on the device that computes.
            size: the codec's V.
            start: the codec's start symbol.
            lanes: B, a power of two.
            dtype: of the matrix products.
            learn: how a copy of the model goes on learning while it codes, from block to block;
                the settings are meant for one lane. None: it does not.
        """
        self._device = model.head.weight.device
        self._window = learn.window if learn else _WINDOW
        super().__init__(size, lanes, _PROBE_WINDOWS * self._window)
        self._start = start
        self._learner = _learner(model, learn, lanes, dtype) if learn else None
        self._model = self._learner.model if self._learner else model
        with torch.inference_mode():  # these keep their addresses, as a recording needs it
            self._step = PreparedStep(self._model, size, dtype)
            self._carried = self._step.split(model.zero_state(lanes))
            self._symbols = torch.zeros(lanes, dtype=torch.int64, device=self._device)
            self._bounds = bounds_of(torch.zeros((lanes, size), device=self._device))
        # They must not refer to the coder: a graph in a reference cycle keeps its memory, and might
        # be freed while another one is recorded, which CUDA forbids.
        tensors = self._symbols, self._carried, self._bounds
        self._advance: list[Callable[[], None]] = [
            functools.partial(_make_step, self._step, fed, *tensors)
            for fed in range(model.config.frame)
        ]
        """What codes the next symbol, given how many inputs of a step were fed."""
        if self._device.type == "cuda":
            self._advance = [GraphedCall(each, self._device) for each in self._advance]

    def forget(self) -> None:
        if self._learner:
            self._learner.forget()
            self._step.renew(self._model)

    def _predicted(self, index: int) -> Integers:
        self._advance[index % len(self._advance)]()
        return self._bounds.cpu().numpy()

    def _begin(self) -> None:
        self._learnt_to = self._model.zero_state(self._lanes)
        with torch.inference_mode():
            self._symbols.fill_(self._start)
            for values in self._carried:
                values.zero_()

    def _follow(self, symbols: Tensor, index: int, watch: Watch) -> None:
        # After a window learn from it, if the block goes on: then it has no padding.
        done, steps = index + 1, len(symbols)
        with torch.inference_mode():
            self._symbols.copy_(symbols[index])
        if done % self._window and done < steps:
            return
        if self._learner and done < steps:
            begin = done - self._window
            targets = symbols[begin:done].to(self._device)
            before = symbols[begin - 1] if begin else torch.full((self._lanes,), self._start)
            inputs = torch.cat([before.to(self._device)[None], targets[:-1]])
            _, self._learnt_to = self._learner.read(inputs, targets, self._learnt_to)
            self._step.renew(self._model)
        watch(done / steps)


@torch.inference_mode()
def _make_step(
    step: PreparedStep, fed: int, symbols: Tensor, carried: Carried, bounds: Tensor
) -> None:
    """Feed the symbols (B,), after so many of a step: then the bounds (B, V + 1) are those of what
    follows."""
    logits, after = step(symbols, carried, fed=fed)
    bounds.copy_(bounds_of(logits))
    for kept, new in zip(carried, after, strict=True):
        kept.copy_(new)


def _learner(model: CharRNN, settings: DynamicConfig, lanes: int, dtype: torch.dtype) -> Learner:
    # The gradient of B lanes has an error that is √B times smaller, and there are B times fewer
    # updates.
    rate = min(1.0, settings.rate * math.sqrt(lanes))
    dtype = torch.float32 if dtype == torch.float16 else dtype  # it would lose gradients
    return Learner(model, dataclasses.replace(settings, rate=rate), dtype)


def bounds_of(logits: Tensor) -> Tensor:
    """Where each symbol's span begins, and the last one ends: (B, V + 1) from 0 to TOTAL.

    Every symbol gets at least 1 of TOTAL, whatever the logits (B, V) are. A sum of integers is the
    same in any order, so that only the softmax depends on how a device rounds.
    """
    size = logits.shape[-1]
    shares = logits.double().softmax(-1).nan_to_num_(0.0)
    counts = shares.mul_(TOTAL - size).long().add_(1)
    bounds = torch.zeros((len(logits), size + 1), dtype=torch.int64, device=logits.device)
    torch.cumsum(counts, -1, out=bounds[:, 1:])
    bounds[:, -1] = TOTAL
    return bounds


def to_lanes(symbols: Integers, lanes: int) -> Integers:
    """Symbols (N,) as (T, B): one lane after the other, the last ones shorter by a 0 at the end."""
    steps = -(-len(symbols) // lanes)
    full = len(symbols) - (steps - 1) * lanes
    grid = np.zeros((steps, lanes), symbols.dtype)
    grid[:, :full] = symbols[: full * steps].reshape(full, steps).T
    grid[:-1, full:] = symbols[full * steps :].reshape(lanes - full, steps - 1).T
    return grid


def from_lanes(grid: Integers, length: int) -> Integers:
    """The inverse of `to_lanes`, given N."""
    steps, lanes = grid.shape
    full = length - (steps - 1) * lanes
    return np.concatenate([grid[:, :full].T.ravel(), grid[:-1, full:].T.ravel()])
