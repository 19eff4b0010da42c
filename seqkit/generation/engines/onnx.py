"""The onnx engine: ONNX Runtime on the CPU, many steps and draws in a call.

`one_step` is what `export` writes, too.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
from onnx import TensorProto, helper

from seqkit.conditions import NO_CONDITIONS, Conditions
from seqkit.foundation import threads
from seqkit.generation.engine import Drawing
from seqkit.generation.engines.condition_rows import condition_rows
from seqkit.generation.engines.onnx_graph import Feeding, Graph, OnnxStep, Value, stacked
from seqkit.generation.sampling import Sampling, drawn
from seqkit.model.arrays import Network
from seqkit.model.state import State, fed_of
from seqkit.symbols import Floats, Integers

_OPSET = 18
_IR_VERSION = 9
_BLOCK = 64
_TYPES = {"uniforms": TensorProto.DOUBLE, "conditions": TensorProto.INT64}

Arrays = npt.NDArray[Any]
_How = tuple[Sampling | None, int]  # as `many_steps` takes them


class OnnxEngine:
    """Generates with ONNX Runtime, in fp32 or with int8 products."""

    def __init__(self, model: Network, size: int, precision: str = "fp32") -> None:
        """`size` is the codec's V, `precision` fp32 or int8."""
        self._step = OnnxStep(model, size, int8=precision == "int8")
        self._threads = threads.own_threads()
        self._sessions: dict[tuple[_How, int], onnxruntime.InferenceSession] = {}
        self.multiple = self._step.places
        self._frame = () if self.multiple == 1 else (self.multiple,)
        self.block = _BLOCK // self.multiple * self.multiple
        self.reads = self.multiple == 1

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        """See Engine."""
        rule, length = dataclasses.replace(drawing.sampling, seed=0), 0
        how = rule, fed_of(drawing.state.frame, self.multiple)
        carried = [drawing.symbols, *self._split(drawing.state)]
        for block, known in drawing.blocks():
            if length % self.multiple:
                raise ValueError(f"a block after {length} symbols, no multiple of {self.multiple}")
            *carried, drawn = self._run(how, carried, block, known)
            length += len(block)
            yield drawn

    def score(
        self, symbols: Integers, state: State, conditions: Conditions = NO_CONDITIONS
    ) -> tuple[Floats, State]:
        """See Engine. Raises ValueError if N is no multiple of the symbols of a step."""
        if len(symbols) % self.multiple:
            raise ValueError(f"{len(symbols)} symbols are no multiple of {self.multiple}")
        how = None, fed_of(state.frame, self.multiple)
        *after, logits = self._run(how, self._split(state), symbols, conditions)
        before, count, layers = state.arrays(), state.frame.shape[2], 2 * self._step.layers
        known, after = after[:count], after[count:]
        h, c = np.stack(after[0:layers:2]), np.stack(after[1:layers:2])
        past, frame = before.past, before.frame
        if self._step.lookback:
            past = after[layers].reshape(1, len(after[layers]), -1)
        if known:
            frame = np.stack(known, 1)[None].astype(np.float32) + 1
        return logits, State(h, c, past, frame)

    def _split(self, state: State) -> list[Arrays]:
        """The state as `many_steps` takes it."""
        h, c, past, frame = state.arrays()
        known = [column.astype(np.int64) - 1 for column in frame[0].T]
        layers = [array for pair in zip(h, c, strict=True) for array in pair]
        past = past.reshape(*past.shape[:2], *self._frame, self._step.lookback)
        return [*known, *layers, *(past if self._step.lookback else ())]

    def _run(
        self, how: _How, carried: list[Arrays], rows: Arrays, conditions: Conditions
    ) -> list[Arrays]:
        """What `many_steps` makes of what is carried and of rows (N, S).

        If N is no multiple of P, only the last result means something, which is cut to N.
        """
        # One row of products in 8 bits is done before a second thread has begun.
        alone = self._step.int8 and rows.shape[1] == 1
        threads = 1 if alone else self._threads
        if (how, threads) not in self._sessions:
            self._sessions[how, threads] = open_session(many_steps(self._step, *how), threads)
        session, inputs = self._sessions[how, threads], [*carried, self._by_step(rows)]
        if self._step.conditions:
            known = condition_rows(self._step.config, conditions)
            numbers = np.zeros(rows.shape, np.int64) if known is None else np.asarray(known)
            inputs.append(self._by_step(numbers))
        names = [value.name for value in session.get_inputs()]
        *after, made = session.run(None, dict(zip(names, inputs, strict=True)))
        return [*after, made.reshape(-1, *made.shape[1 + len(self._frame) :])[: len(rows)]]

    def _by_step(self, rows: Arrays) -> Arrays:
        """Rows (N, S), filled up, as (N / P, P, S), or as they are if P is 1."""
        filled = np.pad(rows, ((0, -len(rows) % self.multiple), (0, 0)))
        return filled.reshape(-1, *self._frame, rows.shape[1])


def open_session(model: onnx.ModelProto, threads: int) -> onnxruntime.InferenceSession:
    """A session on the CPU."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    content = model.SerializeToString()
    return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def one_step(step: OnnxStep) -> onnx.ModelProto:
    """One step, for export: symbols (S,), h and c (L, S, H) in; logits (S, V), new h and c out.

    Cells without a c have neither its input nor its output. A network that predicts linearly has
    past (1, S, K) and new_past, too. The last input of one that reads conditions are those of what
    follows, as rows (S,) of its `StepTables`.
    """
    graph = Graph()

    def layers(name: str) -> list[Value]:
        return [part.node("Squeeze", [0]) for part in Value(graph, name).chunk(step.layers, 0)]

    h, past = layers("h"), Value(graph, "past")
    pairs = list(zip(h, layers("c") if "c" in step.state else h, strict=True))
    before = past.node("Squeeze", [0]) if step.lookback else past
    feeding = Feeding(step, [], pairs, before)
    rows = Value(graph, "conditions") if step.conditions else None
    graph.rename(feeding.feed(Value(graph, "symbols"), rows), "logits")
    parts = dict(zip("hc", zip(*feeding.state, strict=True), strict=True))
    parts["past"] = (feeding.past,)
    for name in step.state:
        first, *others = (part.node("Unsqueeze", [0]) for part in parts[name])
        graph.rename(first.node("Concat", *others, axis=0), f"new_{name}")
    whole: list[str | int | None] = [step.layers, "S", step.hidden]
    shapes = {"h": whole, "c": whole}
    shapes["past"] = [1, "S", step.lookback]
    tensor = helper.make_tensor_value_info
    state = [tensor(name, TensorProto.FLOAT, shapes[name]) for name in step.state]
    new = [tensor(f"new_{name}", TensorProto.FLOAT, shapes[name]) for name in step.state]
    inputs = [tensor("symbols", TensorProto.INT64, ["S"]), *state]
    if step.conditions:
        inputs.append(tensor("conditions", TensorProto.INT64, ["S"]))
    outputs = [tensor("logits", TensorProto.FLOAT, ["S", step.size]), *new]
    return _model(graph.finish(inputs, outputs), step)


def many_steps(step: OnnxStep, sampling: Sampling | None, fed: int = 0) -> onnx.ModelProto:
    """N steps with their draws, or without `sampling` with given symbols, in a Scan.

    The state goes in, and rows of uniforms (N, S), or of symbols, and of conditions if they are
    read. The state comes out, and the drawn symbols (N, S), or logits (N, S, V). The state is h0 c0
    h1 c1 ..., each (S, H), and the past (S, K) if the network predicts linearly; the last symbols
    (S,) stand before it if more are drawn.

    If a step makes P symbols, rows and what is made are (N, P, S) and (N, P, S, V), the past is
    (S, P, K), and what is `Feeding.known` after `fed` inputs of a step comes before h0.
    """
    places = step.places
    known = [f"known{place}" for place in range((fed - 1) % places)]
    integers = ["symbols", *known] if sampling else known
    layers = [f"{kind}{layer}" for layer in range(step.layers) for kind in "hc"]
    past = ["past"] if step.lookback else []
    carried = [*integers, *layers, *past]
    rows = ["uniforms" if sampling else "symbols", *(["conditions"] if step.conditions else [])]
    body = Graph("step_")

    def value(name: str) -> Value:
        return Value(body, f"step_{name}")

    def row(name: str, place: int, dtype: type[np.generic] = np.float32) -> Value:
        whole = Value(body, f"step_{name}", dtype)
        return whole if places == 1 else whole.at(place)

    pairs = [(value(f"h{layer}"), value(f"c{layer}")) for layer in range(step.layers)]
    feeding = Feeding(step, [*map(value, known)], pairs, value("past"), places)
    symbols, made = value("symbols"), list[Value]()
    for place in range(places):
        fed_now = symbols if sampling else row("symbols", place)
        result = feeding.feed(fed_now, row("conditions", place) if step.conditions else None)
        if sampling:
            uniforms = row("uniforms", place, np.float64).node("Unsqueeze", [-1])
            symbols = result = drawn(result, uniforms, sampling, _OnValues(step.size))
        made.append(result)
    after = dict(zip(known, feeding.known, strict=True)) | {"symbols": symbols}
    after |= dict(zip(layers, chain(*feeding.state), strict=True)) | {"past": feeding.past}
    after["made"] = made[0] if places == 1 else stacked(made, 0)
    for name in [*carried, "made"]:
        body.rename(after[name], f"step_new_{name}")
    inside = body.finish(
        _untyped(f"step_{name}" for name in carried + rows),
        _untyped(f"step_new_{name}" for name in [*carried, "made"]),
    )
    types = dict.fromkeys(["symbols", *known], TensorProto.INT64) | _TYPES
    wide = 2 if places == 1 else 3
    inputs = [
        helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), [None] * dims)
        for names, dims in ((integers, 1), (layers, 2), (past + rows, wide))
        for name in names
    ]
    new = _untyped(f"new_{name}" for name in [*carried, "made"])
    scan = helper.make_node(
        "Scan",
        [value.name for value in inputs],
        [value.name for value in new],
        body=inside,
        num_scan_inputs=len(rows),
    )
    return _model(helper.make_graph([scan], "seqkit", inputs, new), step)


class _OnValues:
    """The operations of `sampling.drawn` as nodes, on values x (S, V)."""

    def __init__(self, size: int) -> None:
        self._size = size

    def where(self, condition: Value, number: float, x: Value) -> Value:
        return condition.node("Where", number, x)

    def kth(self, x: Value, k: int) -> Value:
        ordered, _ = x.nodes("TopK", [min(k, self._size)], outputs=2)
        return ordered.node("ReduceMin", [-1])

    def softmax(self, x: Value, temperature: float) -> Value:
        exact = Value(x.graph, x.node("Cast", to=TensorProto.DOUBLE).name, np.float64)
        return exact.node("Div", temperature).node("Softmax", axis=-1)

    def mass_of_likelier(self, x: Value) -> Value:
        ordered, order = x.nodes("TopK", [self._size], outputs=2)
        before = ordered.node("CumSum", [1], exclusive=1)
        return x.node("ScatterElements", order, before, axis=1)


def _untyped(names: Iterable[str]) -> list[onnx.ValueInfoProto]:
    return [onnx.ValueInfoProto(name=name) for name in names]


def _model(graph: onnx.GraphProto, step: OnnxStep) -> onnx.ModelProto:
    domains = [helper.make_opsetid("", _OPSET)]
    if step.int8:
        domains.append(helper.make_opsetid("com.microsoft", 1))
    return helper.make_model(
        graph, opset_imports=domains, ir_version=_IR_VERSION, producer_name="seqkit"
    )
