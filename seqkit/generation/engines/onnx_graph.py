"""A network's step as nodes of an ONNX graph, built from the weights.

All nodes are standard ONNX operators except the int8 product, ONNX Runtime's MatMulNBits: symmetric
8-bit weights with one scale for each block of a row, and activations quantised to 8 bits, block by
block, as they are computed.
"""

import functools
import operator
from typing import Any, Literal, Union

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from seqkit.generation.engines.condition_rows import condition_count
from seqkit.model import cells
from seqkit.model.arrays import Network, NetworkArrays
from seqkit.symbols import Floats

_BLOCK = 256  # weights that share a scale, at most; a power of two


class Graph:
    """A graph under construction: nodes in the order in which they are added, values by name."""

    def __init__(self, prefix: str = "") -> None:
        """`prefix` keeps the names in a Scan's body distinct from those outside."""
        self._prefix = prefix
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, value: npt.ArrayLike, dtype: type[np.generic] = np.float32) -> "Value":
        """Add a constant."""
        name = f"{self._prefix}constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return Value(self, name)

    def add(self, operator: str, inputs: list[str], outputs: int, **attributes: Any) -> list[str]:
        """Add a node: the names of its outputs.

        `attributes` are the operator's own, by the names and with the values that ONNX gives them.
        """
        prefix = f"{self._prefix}{operator.lower()}_{len(self._nodes)}"
        names = [f"{prefix}_{number}" for number in range(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def rename(self, value: "Value", name: str) -> None:
        """Give a value the name by which the graph's users know it."""
        self._nodes.append(helper.make_node("Identity", [value.name], [name]))

    def finish(
        self, inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto]
    ) -> onnx.GraphProto:
        """The whole graph."""
        name = self._prefix or "seqkit"
        return helper.make_graph(self._nodes, name, inputs, outputs, self._constants)


Operand = Union["Value", Floats, float, list[int], None]
"""Of an operator: a value, numbers in the dtype of its first one, axes or sizes, or none."""


class Value:
    """A value of a graph, with operators and methods of arrays: each adds a node.

    So the equations of a cell and the rule of the draw can be called with it, and become nodes.
    """

    def __init__(self, graph: Graph, name: str, dtype: type[np.generic] = np.float32) -> None:
        """`dtype` is that of numbers that it meets."""
        self.graph, self.name, self.dtype = graph, name, dtype

    def nodes(
        self, operator: str, *others: Operand, outputs: int = 1, **attributes: Any
    ) -> list["Value"]:
        """What an operator makes of this and other operands: see `Graph.add`."""
        names = [self.name, *map(self._named, others)]
        results = self.graph.add(operator, names, outputs, **attributes)
        return [Value(self.graph, name, self.dtype) for name in results]

    def node(self, operator: str, *others: Operand, **attributes: Any) -> "Value":
        """What an operator with one output makes."""
        return self.nodes(operator, *others, **attributes)[0]

    def _named(self, operand: Operand) -> str:
        if operand is None:
            return ""
        if isinstance(operand, Value):
            return operand.name
        dtype = np.int64 if isinstance(operand, list) else self.dtype
        return self.graph.constant(operand, dtype).name

    def __add__(self, other: "Value | Floats | Literal[0]") -> "Value":
        return self if isinstance(other, int) else self.node("Add", other)  # nothing: no node

    def __rsub__(self, other: float) -> "Value":
        return self.graph.constant(other, self.dtype).node("Sub", self)

    def __mul__(self, other: "Value") -> "Value":
        return self.node("Mul", other)

    def __lt__(self, other: "Value") -> "Value":
        return self.node("Less", other)

    def __le__(self, other: "Value") -> "Value":
        return self.node("LessOrEqual", other)

    def __ge__(self, other: float) -> "Value":
        return self.node("GreaterOrEqual", other)

    def sigmoid(self) -> "Value":
        return self.node("Sigmoid")

    def tanh(self) -> "Value":
        return self.node("Tanh")

    def relu(self) -> "Value":
        return self.node("Relu")

    def clamp(self, least: float, most: float) -> "Value":
        return self.node("Clip", least, most)

    def chunk(self, count: int, axis: int) -> list["Value"]:
        return self.nodes("Split", outputs=count, axis=axis, num_outputs=count)

    def argmax(self, axis: int) -> "Value":
        return self.node("ArgMax", axis=axis, keepdims=0)

    def max(self, axis: int, keepdims: bool) -> "Value":
        return self.node("ReduceMax", [axis], keepdims=int(keepdims))

    def cumsum(self, axis: int) -> "Value":
        return self.node("CumSum", [axis])

    def sum(self, axis: int) -> "Value":
        return self.node("Cast", to=TensorProto.INT64).node("ReduceSum", [axis], keepdims=0)

    def at(self, index: int, axis: int = 0) -> "Value":
        return self.node("Gather", self.graph.constant(index, np.int64), axis=axis)


def stacked(values: list[Value], axis: int) -> Value:
    """Values side by side along a new axis."""
    first, *others = (value.node("Unsqueeze", [axis]) for value in values)
    return first.node("Concat", *others, axis=axis)


Layers = list[tuple[Value, Value]]
"""Of each layer h and c, (S, H)."""


class OnnxStep:
    """Adds a network's step to graphs."""

    def __init__(self, model: Network, size: int, int8: bool = False) -> None:
        """`size` is the codec's V; logits that the model has beyond it are left out."""
        self._network = NetworkArrays.of(model)
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
        """Add a step of the layers from a frame's symbols (S,); -1 where there was none yet.

        `rows` (S,) are those of the conditions of what follows, if any are read: see
        `condition_rows`. The past is (S, K), or (S, P, K) if P is not 1. Returns the state and the
        past after the step, and the symbols (S,) that are predicted, if any.
        """
        config, graph, tables = self.config, read[0].graph, self._network.gate_tables()
        of_conditions = self._network.condition_table()
        looked_up = [*zip(self._by_place(tables["embedding"], self.places > 1), read, strict=True)]
        if of_conditions is not None and rows is not None:
            looked_up.append((of_conditions, rows))
        predicted = list[Value]()
        if "predicted" in tables:
            past, predicted = self.predict(rows, past, read)
            looked_up += zip(self._by_place(tables["predicted"]), predicted, strict=True)
        gru = self.cell == "gru"  # which multiplies the state's part of the sums alone
        step: Any = cells.cell_step  # of tensors, and here of values
        x, after = read[0], Layers()
        for layer, (h, c) in enumerate(state):
            w, u, b, d = self._network.layer(layer)
            hidden: Value | Literal[0] = 0
            if not after:
                lookups = [(looked_up[0][0] + (b if gru else b + d), read[0]), *looked_up[1:]]
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
        predictor, many = self._network.prediction(), self.places > 1
        assert predictor is not None
        levels, axis = np.pad(predictor.levels, (0, int(many))), 1 + many  # the last one is of -1
        by_row = np.repeat(predictor.weights, max(self.config.label_rows, 1), 0)
        tables = levels, predictor.borders, by_row
        values, borders, weights = map(past.graph.constant, tables)
        if read is not None:
            symbols = stacked(read, 1) if many else read[0]
            last = values.node("Gather", symbols).node("Unsqueeze", [axis])
            past = past.node("Slice", [1], [self.lookback], [axis]).node("Concat", last, axis=axis)
        if rows is not None:
            weights = weights.node("Gather", rows)
        sample = (past * weights).node("ReduceSum", [axis], keepdims=1)
        following = sample.node("Greater", borders).sum(axis)
        return past, [following.at(p, 1) for p in range(self.places)] if many else [following]

    def hidden_of(self, state: Layers, first: int, count: int) -> list[Value]:
        """W h + a of so many places from the first on, (S, M) each: see `frames`; h if P is 1."""
        bottom, *others = (h for h, _ in state)
        x = bottom.node("Sum", *others) if self.config.skip_connections else state[-1][0]
        if self.places == 1:
            return [x]
        size = self.config.head_size
        parts = self._network.head("frame.hidden")
        weight, bias = (part[first * size : (first + count) * size] for part in parts)
        return self._product(x, weight, bias).chunk(count, 1)

    def head_row(self, table: int, place: int, symbols: Value) -> Value:
        """Of symbols (S,) the rows (S, M) in one of `FrameHead.tables`."""
        rows = self._network.frame_tables()[table][place]
        return symbols.graph.constant(rows).node("Gather", symbols)

    def logits(self, x: Value, place: int) -> Value:
        """The logits (S, V) of a place, of what its head reads, (S, M), or (S, H) if P is 1."""
        parts = self._network.head()
        by_place = (part.reshape(self.places, -1, *part.shape[1:]) for part in parts)
        return self._product(x, *(part[place, : self.size] for part in by_place))

    def _by_place(self, table: Floats, none: bool = False) -> list[Floats]:
        """A table's rows of each place; `none`: the first is of no symbol, and comes last."""
        by_place = table.reshape(self.places, -1, table.shape[1])
        return [np.roll(part, -none, 0) for part in by_place]

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
    """Feeds symbols (S,) to a network in a graph, one after the other.

    known: those fed since the last step, -1 where there was none; state, past: see `OnnxStep`.
    """

    def __init__(
        self, step: OnnxStep, known: list[Value], state: Layers, past: Value, count: int = 1
    ) -> None:
        """`count` symbols will be fed."""
        self.known, self.state, self.past = known, state, past
        self._step, self._left = step, count
        self._hidden, self._predicted = list[Value](), list[Value]()
        self._rows: Value | Literal[0] = 0  # of the frame's symbols, added up
        if len(known) + 1 < step.places:  # they belong to the frame under way
            for place, symbol in enumerate(known):
                self._rows = step.head_row(0, place, symbol) + self._rows

    def feed(self, symbol: Value, rows: Value | None) -> Value:
        """The logits (S, V) after a symbol; `rows` as in `OnnxStep.advance`."""
        step, place = self._step, (len(self.known) + 1) % self._step.places
        self.known = [*self.known, symbol]
        if place:
            self._rows = step.head_row(0, place - 1, symbol) + self._rows
        else:
            made = step.advance(self.known, rows, self.state, self.past)
            self.state, self.past, self._predicted = made
            self.known, self._rows = [], 0
        if not self._hidden:  # of all places in one product
            count = min(step.places - place, self._left)
            self._hidden = step.hidden_of(self.state, place, count)
            if place and step.lookback:
                _, self._predicted = step.predict(rows, self.past)
        self._left, z = self._left - 1, self._hidden.pop(0) + self._rows
        if step.places == 1:
            return step.logits(z, 0)
        if self._predicted:
            z = z + step.head_row(1, place, self._predicted[place])
        return step.logits(z.relu(), place)


def quantise(weight: Floats, block: int) -> tuple[npt.NDArray[np.uint8], Floats]:
    """Weights (N, K) as 8-bit integers (N, blocks, block), zero as 128, and scales (N, blocks)."""
    padded = np.pad(weight, ((0, 0), (0, -weight.shape[1] % block)))
    blocks = padded.reshape(len(weight), -1, block)
    scales = np.maximum(np.abs(blocks).max(-1), np.finfo(np.float32).tiny) / 127
    return (np.round(blocks / scales[..., None]) + 128).astype(np.uint8), scales
