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

from seqkit.generation.engines.step_tables import StepTables, condition_count
from seqkit.model import cells
from seqkit.model.char_rnn import CharRNN
from seqkit.model.linear_predictor import LinearPredictor
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
        self.conditions = condition_count(model.config) > 0
        self.lookback = model.config.lookback
        parts = {"h": True, "c": self.cell == "lstm", "past": self.lookback > 0}
        self.state = [name for name, is_used in parts.items() if is_used]
        """The parts of a `State` that a step changes."""

    def add(
        self,
        symbols: Value,
        rows: Value,
        state: list[tuple[Value, Value]],
        past: Value,
    ) -> tuple[Value, list[tuple[Value, Value]], Value]:
        """Add a step from symbols (S,), each layer's h and c (S, H) and the past (S, K).

        `rows` (S,) are those of the conditions of what follows: see `condition_rows`. Returns the
        logits (S, V), the state and the past, which is as it was if the network predicts nothing.
        """
        config, graph, tables = self.config, symbols.graph, StepTables.of(self._model)
        looked_up = [(tables.symbols, symbols), (tables.conditions, rows)]
        if tables.predictor is not None:
            past, following = self._predicted(tables.predictor, symbols, rows, past)
            looked_up.append((tables.predicted, following))
        gru = self.cell == "gru"  # which multiplies the state's part of the sums alone
        step: Any = cells.cell_step  # of tensors, and here of values
        x, after = symbols, list[tuple[Value, Value]]()
        for layer, (h, c) in zip(self._model.layers, state, strict=True):
            w, u, b, d = map(_numpy, cells.weights_of(layer))
            hidden: Value | Literal[0] = 0
            if not after:
                lookups = [(_numpy(t), at) for t, at in looked_up if t is not None]
                lookups[0] = lookups[0][0] + (b if gru else b + d), symbols
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
        if config.skip_connections:
            first, *others = (h for h, _ in after)
            x = first.node("Sum", *others)
        weight, bias = (_numpy(part)[: self.size] for part in self._model.head.parameters())
        return self._product(x, weight, bias), after, past

    def _predicted(
        self, predictor: LinearPredictor, symbols: Value, rows: Value, past: Value
    ) -> tuple[Value, Value]:
        """The past (S, K) with the sample of each symbol (S,), and what is predicted, (S,)."""
        tables = predictor.levels, predictor.borders, predictor.weights
        levels, borders, weights = (past.graph.constant(_numpy(part)) for part in tables)
        last = levels.node("Gather", symbols).node("Unsqueeze", [1])
        past = past.node("Slice", [1], [self.lookback], [1]).node("Concat", last, axis=1)
        if self.conditions:
            weights = weights.node("Gather", rows)
        sample = (past * weights).node("ReduceSum", [1], keepdims=1)
        return past, sample.node("Greater", borders).sum(1)

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


def quantise(weight: Floats, block: int) -> tuple[npt.NDArray[np.uint8], Floats]:
    """Weights (N, K) as 8-bit integers (N, blocks, block), zero as 128, and scales (N, blocks)."""
    padded = np.pad(weight, ((0, 0), (0, -weight.shape[1] % block)))
    blocks = padded.reshape(len(weight), -1, block)
    scales = np.maximum(np.abs(blocks).max(-1), np.finfo(np.float32).tiny) / 127
    return (np.round(blocks / scales[..., None]) + 128).astype(np.uint8), scales


def _numpy(tensor: Any) -> Floats:
    values: Floats = tensor.detach().float().cpu().numpy()
    return values
