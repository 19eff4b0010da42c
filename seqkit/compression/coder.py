"""Blocks of symbols to words and back: lanes of a model side by side, and the coder behind them.

A block of N symbols is cut into B lanes of equal length, and each is read from the zero state. That
costs about 20 bits a lane, and a step of many lanes takes little longer than one of a single lane.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from seqkit.compression import rans
from seqkit.compression.learning import Learning
from seqkit.compression.rans import TOTAL, Decoder, States, Words
from seqkit.compression.steps import WINDOW, Steps
from seqkit.config import DynamicConfig
from seqkit.kernels.graph import Recording
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Integers, Symbols, symbol_dtype

MOST_WAYS = 16
"""States of the entropy coder. Each costs 6 bytes a block."""
_PROBE_WINDOWS = 2
_STRIDE = 7919  # a prime, so that the probe's symbols are many different ones

Watch = Callable[[float], None]
"""Told what share of a block is done."""


Encode = Callable[[Tensor, Tensor], tuple[States, Words]]
"""`rans.encode` of spans on the device, where they begin and their widths: (R, W) each."""


class WindowDecoder(Protocol):
    """Decodes windows: `begin` a block, then one `window` of it after the other."""

    def begin(self, states: States, words: Words) -> None:
        """Start from what an encoder returned."""

    def window(self, steps: Steps) -> Integers:
        """The next symbols (T, B), as many steps as a window of `steps` has."""


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
        """Args:
        model: on the device that computes.
        size: the codec's V.
        start: the codec's start symbol.
        lanes: B, a power of two.
        dtype: of the matrix products.
        learn: how the model goes on learning while it codes, from block to block; or None.
        """
        device = model.head.weight.device
        self.ways = min(lanes, MOST_WAYS)
        """W, the states of the entropy coder."""
        self._size, self._start, self._lanes = size, start, lanes
        self._learning = Learning(model, learn, lanes, dtype) if learn else None
        coding = self._learning.model if self._learning else model
        window = learn.window if learn else WINDOW
        self._steps = Steps(coding, size, lanes, dtype, window)
        self._ruler = _Ruler(self._steps.window, lanes, device)
        self._measure: Callable[[], None] = partial(self._steps.advance, self._ruler.measure)
        self._encode: Encode = _encode_on_host
        self._decoder: WindowDecoder = HostDecoder(self._steps.window, lanes, self.ways)
        if device.type == "cuda":
            from seqkit.compression.cuda import GraphDecoder, KernelEncoder

            self._measure = Recording(self._measure, device)
            self._encode = KernelEncoder(self.ways, device)
            self._decoder = GraphDecoder(
                self._steps, size, lanes=lanes, ways=self.ways, device=device
            )

    def probe(self) -> bytes:
        """The spans of some symbols: other arithmetic gives other bytes."""
        count = _PROBE_WINDOWS * self._steps.window * self._lanes
        spans = self._spans(np.arange(count) * _STRIDE % self._size, lambda share: None)
        self.forget()
        return b"".join(values.cpu().numpy().tobytes() for values in spans)

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
        return self._encode(lowers.view(-1, self.ways), widths.view(-1, self.ways))

    def decode(self, length: int, states: States, words: Words, watch: Watch) -> Symbols:
        """The symbols (N,) of a block, given N and what `encode` returned."""
        steps = -(-length // self._lanes)
        made = np.empty((steps, self._lanes), symbol_dtype(self._size))
        self._begin()
        self._decoder.begin(states, words)
        for part in self._windows(steps):
            window = self._decoder.window(self._steps)
            made[part] = window[: part.stop - part.start]
            if part.stop < steps:
                self._learn(torch.from_numpy(window))
            watch(part.stop / steps)
        return from_lanes(made, length)

    def _spans(self, symbols: Integers, watch: Watch) -> tuple[Tensor, Tensor]:
        """Where the span of each symbol begins, and its width: (T, B) each, on the device."""
        targets = torch.from_numpy(to_lanes(symbols, self._lanes))
        ruler = self._ruler
        lowers, widths = (ruler.lowers.new_empty(targets.shape) for _ in range(2))
        self._begin()
        for part in self._windows(len(targets)):
            length = part.stop - part.start
            ruler.targets[:length].copy_(targets[part])
            self._measure()
            lowers[part].copy_(ruler.lowers[:length])
            widths[part].copy_(ruler.widths[:length])
            if part.stop < len(targets):
                self._learn(targets[part])
            watch(part.stop / len(targets))
        return lowers, widths

    def _begin(self) -> None:
        self._steps.begin(self._start)
        if self._learning is not None:
            self._learning.begin(self._start)

    def _windows(self, steps: int) -> Iterator[slice]:
        for begin in range(0, steps, self._steps.window):
            yield slice(begin, min(begin + self._steps.window, steps))

    def _learn(self, symbols: Tensor) -> None:
        """Learn from a window (T, B) after which the block goes on; it has no padding."""
        if self._learning is not None:
            self._learning.read(symbols)
            self._steps.renew()


class _Ruler:
    """The symbols of a window of T steps and their spans, (T, B), at addresses that stay."""

    def __init__(self, steps: int, lanes: int, device: torch.device) -> None:
        self.targets, self.lowers, self.widths = (
            torch.zeros((steps, lanes), dtype=torch.int64, device=device) for _ in range(3)
        )

    def measure(self, index: int, bounds: Tensor) -> Tensor:
        """Note the spans of a step's symbols, which are known."""
        targets = self.targets[index]
        lowers, uppers = bounds.gather(1, torch.stack([targets, targets + 1], 1)).unbind(1)
        self.lowers[index].copy_(lowers)
        torch.sub(uppers, lowers, out=self.widths[index])
        return targets


def _encode_on_host(lowers: Tensor, widths: Tensor) -> tuple[States, Words]:
    return rans.encode(lowers.numpy(), widths.numpy())


class HostDecoder:
    """Decodes on the CPU."""

    def __init__(self, steps: int, lanes: int, ways: int) -> None:
        self._made = np.empty((steps, lanes), np.int64)
        self._ways = ways

    def begin(self, states: States, words: Words) -> None:
        """See WindowDecoder."""
        self._decoder = Decoder(states, words)

    def window(self, steps: Steps) -> Integers:
        """See WindowDecoder."""
        steps.advance(self._take)
        return self._made

    def _take(self, index: int, bounds: Tensor) -> Tensor:
        rows, made = bounds.numpy(), self._made[index]
        for lane in range(0, len(rows), self._ways):
            part = slice(lane, lane + self._ways)
            made[part] = self._decoder.take(rows[part])
        return torch.from_numpy(made)


def to_lanes(symbols: Integers, lanes: int) -> Integers:
    """Symbols (N,) as (T, B): one lane after the other, the last ones shorter by a 0 at the end."""
    steps = -(-len(symbols) // lanes)
    full = len(symbols) - (steps - 1) * lanes
    grid = np.zeros((steps, lanes), symbols.dtype)
    grid[:, :full] = symbols[: full * steps].reshape(full, steps).T
    grid[:-1, full:] = symbols[full * steps :].reshape(lanes - full, steps - 1).T
    return grid


def from_lanes(grid: Symbols, length: int) -> Symbols:
    """The inverse of `to_lanes`, given N."""
    steps, lanes = grid.shape
    full = length - (steps - 1) * lanes
    return np.concatenate([grid[:, :full].T.ravel(), grid[:-1, full:].T.ravel()])
