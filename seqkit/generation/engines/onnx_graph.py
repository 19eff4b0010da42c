"""A network's step as nodes of an ONNX graph, built from the weights.

All nodes are standard ONNX operators except the int8 product, ONNX Runtime's MatMulNBits: symmetric
8-bit weights with one scale for each block of a row, and activations quantised to 8 bits, block by
block, as they are computed.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

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

    def constant(self, value: npt.ArrayLike, dtype: type[np.generic]) -> str:
        """Add a constant: its name."""
        name = f"{self._prefix}constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.asarray(value, dtype), name))
        return name

    def add(self, operator: str, *inputs: str, outputs: int = 1, **attributes: Any) -> list[str]:
        """Add a node: the names of its outputs.

        `attributes` are the operator's own, by the names and with the values that ONNX gives them.
        """
        prefix = f"{self._prefix}{operator.lower()}_{len(self._nodes)}"
        names = [f"{prefix}_{number}" for number in range(outputs)]
        self._nodes.append(helper.make_node(operator, inputs, names, **attributes))
        return names

    def one(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node with one output: its name. The arguments are those of `add`."""
        return self.add(operator, *inputs, **attributes)[0]

    def rename(self, value: str, name: str) -> None:
        """Give a value the name by which the graph's users know it."""
        self._nodes.append(helper.make_node("Identity", [value], [name]))

    def finish(
        self, inputs: list[onnx.ValueInfoProto], outputs: list[onnx.ValueInfoProto]
    ) -> onnx.GraphProto:
        """The whole graph."""
        name = self._prefix or "seqkit"
        return helper.make_graph(self._nodes, name, inputs, outputs, self._constants)


class OnnxStep:
    """Adds a network's step to graphs."""

    def __init__(self, model: CharRNN, size: int, int8: bool = False) -> None:
        """`size` is the codec's V; logits that the model has beyond it are left out."""
        self._model = model
        self.size = size
        self.int8 = int8
        self.cell = model.config.cell
        self.layers = model.config.num_layers
        self.hidden = model.config.hidden_size
        self.conditions = model.config.conditions > 0
        self.lookback = model.config.lookback
        parts = {"h": True, "c": self.cell == "lstm", "past": self.lookback > 0}
        self.state = [name for name, is_used in parts.items() if is_used]
        """The parts of a `State` that a step changes."""

    def add(
        self,
        graph: Graph,
        symbols: str,
        conditions: str,
        state: list[tuple[str, str]],
        past: str,
    ) -> tuple[str, list[tuple[str, str]], str]:
        """Add a step from symbols (S,), each layer's h and c (S, H) and the past (S, K).

        `conditions` (S,) tell of what follows, if the network reads them. Returns the logits
        (S, V), the state and the past, which is as it was if the network predicts nothing.
        """
        after: list[tuple[str, str]] = []
        x = ""
        prediction, tables = self._model.linear_predictor, self._model.gate_tables()
        following = ""
        if prediction is not None:
            given = symbols, conditions, past
            past, following = self._predicted(graph, prediction, *given)
        for index, (h, c) in enumerate(state):
            weights = cells.weights_of(self._model.layers[index])
            w, u, b, d = (self._ordered(_numpy(part)) for part in weights)
            whole = b if self.cell == "gru" else b + d
            if index == 0:
                table = self._ordered(_numpy(tables["embedding"].T)).T
                inputs = graph.one("Gather", graph.constant(table + whole, np.float32), symbols)
                if self.conditions:
                    told = self._ordered(_numpy(tables["conditions"]).T).T
                    row = graph.one("Gather", graph.constant(told, np.float32), conditions)
                    inputs = graph.one("Add", inputs, row)
                if prediction is not None:
                    own = self._ordered(_numpy(tables["predicted"].T)).T
                    rows = graph.constant(own, np.float32)
                    row = graph.one("Gather", rows, following)
                    inputs = graph.one("Add", inputs, row)
            elif self.cell == "gru":
                inputs = self._product(graph, x, w, whole)
            if self.cell == "gru":
                hidden = self._product(graph, h, u, d)
                after.append((self._gru(graph, inputs, hidden, h), c))
                x = after[-1][0]
                continue
            if index == 0:
                sums = graph.one("Add", self._product(graph, h, u), inputs)
            else:
                joined = graph.one("Concat", x, h, axis=1)
                sums = self._product(graph, joined, np.concatenate([w, u], 1), whole)
            if self.cell == "lstm":
                after.append(self._lstm(graph, sums, c))
            else:
                kind = "Tanh" if self.cell == "rnn_tanh" else "Relu"
                after.append((graph.one(kind, sums), c))
            x = after[-1][0]
        if self._model.config.skip_connections:
            x = graph.one("Sum", *(h for h, _ in after))
        head = self._model.head
        weight, bias = _numpy(head.weight)[: self.size], _numpy(head.bias)[: self.size]
        return self._product(graph, x, weight, bias), after, past

    def _predicted(
        self, graph: Graph, prediction: LinearPredictor, symbols: str, conditions: str, past: str
    ) -> tuple[str, str]:
        """The past (S, K) with the sample of each symbol (S,), and what is predicted, (S,)."""
        axis = graph.constant([1], np.int64)
        kept = graph.one("Slice", past, axis, graph.constant([self.lookback], np.int64), axis)
        levels = graph.constant(_numpy(prediction.levels), np.float32)
        last = graph.one("Unsqueeze", graph.one("Gather", levels, symbols), axis)
        past = graph.one("Concat", kept, last, axis=1)
        weights = graph.constant(_numpy(prediction.weights), np.float32)
        if self.conditions:
            weights = graph.one("Gather", weights, conditions)
        parts = graph.one("Mul", past, weights)
        sample = graph.one("ReduceSum", parts, axis, keepdims=1)
        borders = graph.constant(_numpy(prediction.borders)[None], np.float32)
        above = graph.one("Cast", graph.one("Greater", sample, borders), to=TensorProto.INT64)
        return past, graph.one("ReduceSum", above, axis, keepdims=0)

    def _ordered(self, rows: Floats) -> Floats:
        """A layer's rows, reordered so that an LSTM's three sigmoid gates are adjacent."""
        if self.cell != "lstm":
            return rows
        i, f, g, o = np.split(rows, 4)
        return np.concatenate([i, f, o, g])

    def _lstm(self, graph: Graph, sums: str, c: str) -> tuple[str, str]:
        h = self._model.config.hidden_size
        sizes = graph.constant([3 * h, h], np.int64)
        gates, value = graph.add("Split", sums, sizes, outputs=2, axis=1)
        i, f, o = graph.add("Split", graph.one("Sigmoid", gates), outputs=3, axis=1, num_outputs=3)
        kept = graph.one("Mul", f, c)
        c = graph.one("Add", kept, graph.one("Mul", i, graph.one("Tanh", value)))
        if clip := self._model.config.clip:
            bounds = (graph.constant(bound, np.float32) for bound in (-clip, clip))
            c = graph.one("Clip", c, *bounds)
        return graph.one("Mul", o, graph.one("Tanh", c)), c

    def _gru(self, graph: Graph, inputs: str, hidden: str, h: str) -> str:
        reset_i, update_i, new_i = graph.add("Split", inputs, outputs=3, axis=1, num_outputs=3)
        reset_h, update_h, new_h = graph.add("Split", hidden, outputs=3, axis=1, num_outputs=3)
        reset = graph.one("Sigmoid", graph.one("Add", reset_i, reset_h))
        update = graph.one("Sigmoid", graph.one("Add", update_i, update_h))
        new = graph.one("Tanh", graph.one("Add", new_i, graph.one("Mul", reset, new_h)))
        return graph.one("Add", new, graph.one("Mul", update, graph.one("Sub", h, new)))

    def _product(self, graph: Graph, x: str, weight: Floats, bias: Floats | None = None) -> str:
        """x (S, K) times weight (N, K), plus a bias (N,)."""
        if not self.int8:
            y = graph.one("MatMul", x, graph.constant(weight.T, np.float32))
            return y if bias is None else graph.one("Add", y, graph.constant(bias, np.float32))
        rows, width = weight.shape
        block = min(_BLOCK, max(16, width & -width))
        integers, scales = quantise(weight, block)
        names = [graph.constant(integers, np.uint8), graph.constant(scales, np.float32)]
        if bias is not None:
            names += ["", "", graph.constant(bias, np.float32)]  # no zero points, no group index
        return graph.one(
            "MatMulNBits",
            x,
            *names,
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
