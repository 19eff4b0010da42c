"""Blocks of symbols to words and back: lanes of a model side by side, and the coder behind them.

A block of N symbols is cut into B lanes of equal length, and each is read from the zero state. That
costs about 20 bits a lane, and a step of many lanes takes little longer than one of a single lane.
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from seqkit.compression import rans
from seqkit.compression.learning import Learning
from seqkit.compression.rans import TOTAL, Decoder, States, Words
from seqkit.compression.steps import Steps
from seqkit.config import DynamicConfig
from seqkit.kernels.graph import Recording
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Integers, Symbols, symbol_dtype

MOST_WAYS = 16
"""States of the entropy coder. Each costs 6 bytes a block."""
_WINDOW = 32  # steps between two looks at the machine, without learning
_PROBE_WINDOWS = 2
_STRIDE = 7919  # a prime, so that the probe's symbols are many different ones

Watch = Callable[[float], None]
"""Told what share of a block is done."""


class Coder:
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
            learn: how the model goes on learning while it codes, from block to block; or None.
        """
        self._device = model.head.weight.device
        self.ways = min(lanes, MOST_WAYS)
        """W, the states of the entropy coder."""
        self._size, self._start, self._lanes = size, start, lanes
        self._learning = Learning(model, learn, lanes, dtype) if learn else None
        self._window = learn.window if learn else _WINDOW
        self._steps = Steps(self._learning.model if self._learning else model, size, lanes, dtype)
        self._advance: Callable[[], None] = self._steps.advance
        if self._device.type == "cuda":
            self._advance = Recording(self._steps.advance, self._device)

    def probe(self) -> bytes:
        """The spans of some symbols: other arithmetic gives other bytes."""
        count = _PROBE_WINDOWS * self._window * self._lanes
        spans = self._spans(np.arange(count) * _STRIDE % self._size, lambda share: None)
        self.forget()
        return b"".join(values.tobytes() for values in spans)

    def forget(self) -> None:
        """Go on as if no block had been coded yet."""
        if self._learning is not None:
            self._learning.forget()
            self._steps.renew()

    def encode(self, symbols: Symbols, watch: Watch) -> tuple[States, Words]:
        """The states (W,) and words (M,) of symbols (N,), N at least 1."""
        lowers, widths = self._spans(symbols.astype(np.int64), watch)
        if rest := len(symbols) % self._lanes:
            lowers[-1, rest:], widths[-1, rest:] = 0, TOTAL  # nothing to code
        return rans.encode(lowers.reshape(-1, self.ways), widths.reshape(-1, self.ways))

    def decode(self, length: int, states: States, words: Words, watch: Watch) -> Symbols:
        """The symbols (N,) of a block, given N and what `encode` returned."""
        made = np.empty((-(-length // self._lanes), self._lanes), np.int64)
        decoder = Decoder(states, words)
        self._begin()
        for index, row in enumerate(made):
            self._advance()
            bounds = self._steps.bounds.cpu().numpy()
            for lane in range(0, self._lanes, self.ways):
                part = slice(lane, lane + self.ways)
                row[part] = decoder.take(bounds[part])
            self._follow(torch.from_numpy(made), index, watch)
        return from_lanes(made, length).astype(symbol_dtype(self._size))

    def _spans(self, symbols: Integers, watch: Watch) -> tuple[Integers, Integers]:
        """Where the span of each symbol begins, and its width: (T, B) each."""
        targets = torch.from_numpy(to_lanes(symbols, self._lanes)).to(self._device)
        begins, ends = torch.empty_like(targets), torch.empty_like(targets)
        self._begin()
        for index, own in enumerate(targets):
            self._advance()
            spans = self._steps.bounds.gather(1, torch.stack([own, own + 1], 1))
            begins[index], ends[index] = spans.unbind(1)
            self._follow(targets, index, watch)
        return begins.cpu().numpy(), (ends - begins).cpu().numpy()

    def _begin(self) -> None:
        self._steps.begin(self._start)
        if self._learning is not None:
            self._learning.begin(self._start)

    def _follow(self, symbols: Tensor, index: int, watch: Watch) -> None:
        """Go on after a step, of whose block (T, B) the symbols are known so far.

        After a window learn from it, if the block goes on: then it has no padding.
        """
        done, steps = index + 1, len(symbols)
        self._steps.feed(symbols[index])
        if done % self._window and done < steps:
            return
        if self._learning is not None and done < steps:
            self._learning.read(symbols[done - self._window : done])
            self._steps.renew()
        watch(done / steps)


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
