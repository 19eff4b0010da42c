"""A network's step as nodes of an ONNX graph, built from the weights.

All nodes are standard ONNX operators except the int8 product, ONNX Runtime's MatMulNBits: symmetric
8-bit weights with one scale for each block of a row, and activations quantised to 8 bits, block by
block, as they are computed.
"""

import functools
import operator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from torch import Tensor
from torch.nn import functional as F

from seqkit.generation.engines.onnx_graph import Value, stacked
from seqkit.generation.engines.step_tables import StepTables, condition_count
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Floats

_BLOCK = 256  # weights that share a scale, at most; a power of two

Layers = list[tuple[Value, Value]]
"""Of each layer h and c, (S, H)."""


class OnnxStep:
    """Adds a network's step to graphs."""

    def __init__(self, model: CharRNN, size: int, int8: bool = False) -> None:
        """`size` is the codec's V; logits that the model has beyond it are left out."""
        self._model = model
        self.config = model.config
        self.size = size
        self.int8 = int8
        self.cell = model.config.cell
        self.layers = model.config.num_layers
        self.hidden = model.config.hidden_size
        self.places = model.config.frame
        """P, the symbols of a step."""
        self.conditions = condition_count(model.config) > 0
        self.lookback = model.config.lookback
        parts = {"h": True, "c": self.cell == "lstm", "past": self.lookback > 0}
        self.state = [name for name, is_used in parts.items() if is_used]
        """The parts of a `State` that a step changes."""

    def advance(
        self, read: list[Value], rows: Value | None, state: Layers, past: Value
    ) -> tuple[Layers, Value, list[Value]]:
        """Add a step of the layers.

        Args:
            read: the P symbols of a frame, (S,) each; -1 where there was none yet.
            rows: of the conditions of what follows, (S,), if they are read: see `condition_rows`.
            state: before it.
            past: (S, K), or (S, P, K) if P is not 1.

        Returns:
            The state and the past after it, and the symbols that are predicted, (S,) each, if any.
        """
        config, graph, tables = self.config, read[0].graph, StepTables.of(self._model)
        looked_up = [*zip(self._by_place(tables.symbols, self.places > 1), read, strict=True)]
        if tables.conditions is not None and rows is not None:
            looked_up.append((tables.conditions, rows))
        predicted = list[Value]()
        if tables.predicted is not None:
            past, predicted = self.predict(rows, past, read)
            looked_up += zip(self._by_place(tables.predicted), predicted, strict=True)
        gru = self.cell == "gru"  # which multiplies the state's part of the sums alone
        step: Any = cells.cell_step  # of tensors, and here of values
        x, after = read[0], Layers()
        for layer, (h, c) in zip(self._model.layers, state, strict=True):
            w, u, b, d = map(_numpy, cells.weights_of(layer))
            hidden: Value | Literal[0] = 0
            if not after:
                lookups = [(_numpy(table), at) for table, at in looked_up]
                lookups[0] = lookups[0][0] + (b if gru else b + d), read[0]
                inputs = functools.reduce(
                    operator.add, (graph.constant(t).node("Gather", at) for t, at in lookups)
                )
                hidden = self._product(h, u, d if gru else None)
            elif gru:
                inputs, hidden = self._product(x, w, b), self._product(h, u, d)
            else:  # in one product, which is faster than two
                joined = x.node("Concat", h, axis=1)
                inputs = self._product(joined, np.concatenate([w, u], 1), b + d)
            x, new_c = step(self.cell, inputs, hidden, h, c, cell_clip=config.clip)
            after.append((x, new_c))
        return after, past, predicted

    def predict(
        self, rows: Value | None, past: Value, read: list[Value] | None = None
    ) -> tuple[Value, list[Value]]:
        """The past with the samples of what was `read`, and what is predicted: see `advance`."""
        predictor = StepTables.of(self._model).predictor
        assert predictor is not None
        # The sample of -1 is the last one.
        tables = (
            F.pad(predictor.levels, (0, self.places > 1)),
            predictor.borders,
            predictor.weights,
        )
        levels, borders, weights = (past.graph.constant(_numpy(part)) for part in tables)
        axis = 1 if self.places == 1 else 2
        if read is not None:
            symbols = read[0] if self.places == 1 else stacked(read, 1)
            last = levels.node("Gather", symbols).node("Unsqueeze", [axis])
            past = past.node("Slice", [1], [self.lookback], [axis]).node("Concat", last, axis=axis)
        if rows is not None:
            weights = weights.node("Gather", rows)
        sample = (past * weights).node("ReduceSum", [axis], keepdims=1)
        following = sample.node("Greater", borders).sum(axis)
        if self.places == 1:
            return past, [following]
        return past, [following.at(place, 1) for place in range(self.places)]

    def output(self, state: Layers) -> Value:
        """What the head reads, (S, H)."""
        first, *others = (h for h, _ in state)
        if self.config.skip_connections:
            return first.node("Sum", *others)
        return others[-1] if others else first

    def hidden_of(self, x: Value, first: int, count: int) -> list[Value]:
        """W h + a, (S, M) each, of so many places from the first on, of x = h: see `frames`."""
        assert self._model.frame is not None
        size = self.config.head_size
        parts = map(_numpy, self._model.frame.hidden.parameters())
        weight, bias = (part[first * size : (first + count) * size] for part in parts)
        return self._product(x, weight, bias).chunk(count, 1)

    def head_row(self, table: int, place: int, symbols: Value) -> Value:
        """Of symbols (S,) the rows (S, M) in one of `FrameHead.tables`."""
        assert self._model.frame is not None
        rows = self._model.frame.tables()[table][place]
        return symbols.graph.constant(_numpy(rows)).node("Gather", symbols)

    def logits(self, x: Value, place: int) -> Value:
        """The logits (S, V) of a place, of what its head reads, (S, M), or (S, H) if P is 1."""
        parts = (_numpy(part) for part in self._model.head.parameters())
        by_place = (part.reshape(self.places, -1, *part.shape[1:]) for part in parts)
        return self._product(x, *(part[place, : self.size] for part in by_place))

    def _by_place(self, table: Tensor, none: bool = False) -> list[Tensor]:
        """A table's rows of each place; `none`: the first is of no symbol, and comes last."""
        return [part.roll(-none, 0) for part in table.reshape(self.places, -1, table.shape[1])]

    def _product(self, x: Value, weight: Floats, bias: Floats | None = None) -> Value:
        """x (S, K) times weight (N, K), plus a bias (N,)."""
        if not self.int8:
            y = x.node("MatMul", weight.T)
            return y if bias is None else y + bias
        rows, width = weight.shape
        block = min(_BLOCK, max(16, width & -width))
        integers, scales = quantise(weight, block)
        return x.node(
            "MatMulNBits",
            *(x.graph.constant(integers, np.uint8), scales),
            *(() if bias is None else (None, None, bias)),  # no zero points, no group index
            domain="com.microsoft",
            K=width,
            N=rows,
            bits=8,
            block_size=block,
            accuracy_level=4,  # activations in 8 bits
        )


class Feeding:
    """Feeds symbols to a network in a graph, one after the other.

    known: symbols (S,) fed since the last step, from 0; -1 where there was none.
    state, past: as `OnnxStep.advance` takes them.
    """

    def __init__(
        self, step: OnnxStep, known: list[Value], state: Layers, past: Value, count: int = 1
    ) -> None:
        """`count` symbols will be fed."""
        self.known, self.state, self.past = known, state, past
        self._step, self._left = step, count
        self._place = (len(known) + 1) % step.places
        self._hidden, self._predicted = list[Value](), list[Value]()
        self._rows: Value | Literal[0] = 0  # of the frame's symbols, added up
        for place, symbol in enumerate(known if self._place else []):
            self._rows = step.head_row(0, place, symbol) + self._rows

    def feed(self, symbol: Value, rows: Value | None) -> Value:
        """The logits (S, V) after a symbol (S,); `rows` as in `OnnxStep.advance`."""
        step, place = self._step, self._place
        self.known = [*self.known, symbol]
        if place == 0:
            self.state, self.past, self._predicted = step.advance(
                self.known, rows, self.state, self.past
            )
            self.known, self._rows = [], 0
        else:
            self._rows = step.head_row(0, place - 1, symbol) + self._rows
        if step.places == 1:
            return step.logits(step.output(self.state), 0)
        if not self._hidden:  # of all places in one product
            count = min(step.places - place, self._left)
            self._hidden = step.hidden_of(step.output(self.state), place, count)
            if place and step.lookback:
                _, self._predicted = step.predict(rows, self.past)
        self._left, self._place = self._left - 1, (place + 1) % step.places
        z = self._hidden.pop(0) + self._rows
        if self._predicted:
            z = z + step.head_row(1, place, self._predicted[place])
        return step.logits(z.relu(), place)


def quantise(weight: Floats, block: int) -> tuple[npt.NDArray[np.uint8], Floats]:
    """Weights (N, K) as 8-bit integers (N, blocks, block), zero as 128, and scales (N, blocks)."""
    padded = np.pad(weight, ((0, 0), (0, -weight.shape[1] % block)))
    blocks = padded.reshape(len(weight), -1, block)
    scales = np.maximum(np.abs(blocks).max(-1), np.finfo(np.float32).tiny) / 127
    return (np.round(blocks / scales[..., None]) + 128).astype(np.uint8), scales


def _numpy(tensor: Any) -> Floats:
    values: Floats = tensor.detach().float().cpu().numpy()
    return values
