"""ONNX graphs under construction, whose values are used like arrays."""

from typing import Any, Literal, Union

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper

from seqkit.symbols import Floats


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
