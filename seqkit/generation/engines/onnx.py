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
import torch
from onnx import TensorProto, helper

from seqkit.conditions import NO_CONDITIONS, Conditions
from seqkit.generation.engine import Drawing
from seqkit.generation.engines.onnx_graph import Graph, OnnxStep, Value
from seqkit.generation.engines.step_tables import condition_rows
from seqkit.generation.sampling import Sampling, drawn
from seqkit.model.char_rnn import CharRNN
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers

_OPSET = 18
_IR_VERSION = 9
_INTEGERS = ("symbols", "conditions")
_TYPES = {"uniforms": TensorProto.DOUBLE} | dict.fromkeys(_INTEGERS, TensorProto.INT64)

Arrays = npt.NDArray[Any]


class OnnxEngine:
    """Generates with ONNX Runtime, in fp32 or with int8 products."""

    block = 64
    reads = True

    def __init__(self, model: CharRNN, size: int, precision: str = "fp32") -> None:
        """`size` is the codec's V, `precision` fp32 or int8."""
        self._step = OnnxStep(model, size, int8=precision == "int8")
        self._threads = torch.get_num_threads()
        self._sessions: dict[tuple[Sampling | None, int], onnxruntime.InferenceSession] = {}

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        """See Engine."""
        rule = dataclasses.replace(drawing.sampling, seed=0)
        carried = [drawing.symbols, *self._split(drawing.state)]
        for block, known in drawing.blocks():
            *carried, drawn = self._run(rule, carried, block, known)
            yield drawn

    def score(
        self, symbols: Integers, state: State, conditions: Conditions = NO_CONDITIONS
    ) -> tuple[Floats, State]:
        """See Engine."""
        *after, logits = self._run(None, self._split(state), symbols, conditions)
        tensors = [torch.from_numpy(values).to(state.h.device) for values in after]
        layers = 2 * self._step.layers
        h, c = torch.stack(tensors[0:layers:2]), torch.stack(tensors[1:layers:2])
        past = tensors[layers][None] if self._step.lookback else state.past
        return logits, State(h, c, past, state.frame)

    def _split(self, state: State) -> list[Arrays]:
        """The state as `many_steps` takes it."""
        h, c, past, _ = (values.float().cpu().numpy() for values in state)
        layers = [array for pair in zip(h, c, strict=True) for array in pair]
        return [*layers, *(past if self._step.lookback else ())]

    def _run(
        self, rule: Sampling | None, carried: list[Arrays], rows: Arrays, conditions: Conditions
    ) -> list[Arrays]:
        """What `many_steps` makes of what is carried and of rows (N, S)."""
        # One row of products in 8 bits is done before a second thread has begun.
        alone = self._step.int8 and rows.shape[1] == 1
        threads = 1 if alone else self._threads
        if (rule, threads) not in self._sessions:
            self._sessions[rule, threads] = open_session(many_steps(self._step, rule), threads)
        session = self._sessions[rule, threads]
        inputs = [*carried, rows]
        if self._step.conditions:
            known = condition_rows(self._step.config, conditions)
            inputs.append(np.zeros(rows.shape, np.int64) if known is None else known.numpy())
        names = [value.name for value in session.get_inputs()]
        outputs: list[Arrays] = session.run(None, dict(zip(names, inputs, strict=True)))
        return outputs


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
    read = Value(graph, "symbols"), Value(graph, "conditions")
    logits, after, past = step.add(*read, pairs, before)
    graph.rename(logits, "logits")
    parts = dict(zip("hc", zip(*after, strict=True), strict=True)) | {"past": (past,)}
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


def many_steps(step: OnnxStep, sampling: Sampling | None) -> onnx.ModelProto:
    """N steps with their draws, or without `sampling` with given symbols, in a Scan.

    The state goes in, and rows of uniforms (N, S), or of symbols, and of conditions if they are
    read. The state comes out, and the drawn symbols (N, S), or logits (N, S, V). The state is h0 c0
    h1 c1 ..., each (S, H), and the past (S, K) if the network predicts linearly; the last symbols
    (S,) stand before it if more are drawn.
    """
    carried = [f"{kind}{layer}" for layer in range(step.layers) for kind in "hc"]
    carried += ["past"] if step.lookback else []
    rows = ["uniforms" if sampling else "symbols", *(["conditions"] if step.conditions else [])]
    body = Graph("step_")

    def value(name: str, dtype: type[np.generic] = np.float32) -> Value:
        return Value(body, f"step_{name}", dtype)

    pairs = [(value(f"h{layer}"), value(f"c{layer}")) for layer in range(step.layers)]
    result, after, past = step.add(value("symbols"), value("conditions"), pairs, value("past"))
    following = [*chain(*after), *([past] if step.lookback else [])]
    if sampling:
        uniforms = value("uniforms", np.float64).node("Unsqueeze", [-1])
        result = drawn(result, uniforms, sampling, _OnValues(step.size))
        carried, following = ["symbols", *carried], [result, *following]
    for output, name in zip([*following, result], [*carried, "made"], strict=True):
        body.rename(output, f"step_new_{name}")
    inside = body.finish(
        _untyped(f"step_{name}" for name in carried + rows),
        _untyped(f"step_new_{name}" for name in [*carried, "made"]),
    )
    inputs = [
        helper.make_tensor_value_info(name, _TYPES.get(name, TensorProto.FLOAT), [None] * dims)
        for names, dims in ((carried[:1], 1 if sampling else 2), (carried[1:] + rows, 2))
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
