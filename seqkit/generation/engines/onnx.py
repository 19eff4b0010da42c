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
from seqkit.generation.engines.onnx_graph import Graph, Value, stacked
from seqkit.generation.engines.onnx_step import Feeding, OnnxStep
from seqkit.generation.engines.step_tables import condition_rows
from seqkit.generation.sampling import Sampling, drawn
from seqkit.model.char_rnn import CharRNN
from seqkit.model.frames import fed_of
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers

_OPSET = 18
_IR_VERSION = 9
_BLOCK = 64

Arrays = npt.NDArray[Any]


class OnnxEngine:
    """Generates with ONNX Runtime, in fp32 or with int8 products."""

    def __init__(self, model: CharRNN, size: int, precision: str = "fp32") -> None:
        """`size` is the codec's V, `precision` fp32 or int8."""
        self._step = OnnxStep(model, size, int8=precision == "int8")
        self._threads = torch.get_num_threads()
        self._sessions: dict[tuple[Sampling | None, int, int], onnxruntime.InferenceSession] = {}
        self.multiple = self._step.places
        self.block = _BLOCK // self.multiple * self.multiple
        self.reads = self.multiple == 1

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        """See Engine."""
        rule = dataclasses.replace(drawing.sampling, seed=0)
        carried = [drawing.symbols, *self._split(drawing.state)]
        fed, short = fed_of(drawing.state.frame, self.multiple), False
        for block, known in drawing.blocks():
            if short:
                raise ValueError(f"a block before this one was no multiple of {self.multiple}")
            short = len(block) % self.multiple > 0
            *carried, drawn = self._run(rule, fed, carried, block, known)
            yield drawn

    def score(
        self, symbols: Integers, state: State, conditions: Conditions = NO_CONDITIONS
    ) -> tuple[Floats, State]:
        """See Engine. Raises ValueError if N is no multiple of the symbols of a step."""
        if len(symbols) % self.multiple:
            raise ValueError(f"{len(symbols)} symbols are no multiple of {self.multiple}")
        fed, carried = fed_of(state.frame, self.multiple), self._split(state)
        *after, logits = self._run(None, fed, carried, symbols, conditions)
        tensors = [torch.from_numpy(values).to(state.h.device) for values in after]
        count = state.frame.shape[2]
        end = count + 2 * self._step.layers
        h, c = (torch.stack(tensors[count + first : end : 2]) for first in (0, 1))
        past = tensors[end][None].flatten(2) if self._step.lookback else state.past
        frame = state.frame
        if count:
            frame = torch.stack(tensors[:count], 1)[None].to(frame) + 1
        return logits, State(h, c, past, frame)

    def _split(self, state: State) -> list[Arrays]:
        """The state as `many_steps` takes it."""
        h, c, past, frame = (values.float().cpu().numpy() for values in state)
        known = [column.astype(np.int64) - 1 for column in frame[0].T]
        layers = [array for pair in zip(h, c, strict=True) for array in pair]
        if self.multiple > 1:
            past = past.reshape(1, len(frame[0]), self.multiple, -1)
        return [*known, *layers, *(past if self._step.lookback else ())]

    def _run(
        self,
        rule: Sampling | None,
        fed: int,
        carried: list[Arrays],
        rows: Arrays,
        conditions: Conditions,
    ) -> list[Arrays]:
        """What `many_steps` makes of what is carried and of rows (N, S).

        If N is no multiple of P, only the last result means something, which is cut to N.
        """
        # One row of products in 8 bits is done before a second thread has begun.
        alone = self._step.int8 and rows.shape[1] == 1
        threads = 1 if alone else self._threads
        if (rule, fed, threads) not in self._sessions:
            graph = many_steps(self._step, rule, fed)
            self._sessions[rule, fed, threads] = open_session(graph, threads)
        session = self._sessions[rule, fed, threads]
        inputs = [*carried, self._by_step(rows)]
        if self._step.conditions:
            known = condition_rows(self._step.config, conditions)
            found = np.zeros(rows.shape, np.int64) if known is None else known.numpy()
            inputs.append(self._by_step(found))
        names = [value.name for value in session.get_inputs()]
        *after, made = session.run(None, dict(zip(names, inputs, strict=True)))
        if self.multiple > 1:
            made = made.reshape(-1, *made.shape[2:])[: len(rows)]
        return [*after, made]

    def _by_step(self, rows: Arrays) -> Arrays:
        """Rows (N, S) as (N / P, P, S), filled up; as they are if P is 1."""
        if self.multiple == 1:
            return rows
        filled = np.pad(rows, ((0, -len(rows) % self.multiple), (0, 0)))
        return filled.reshape(-1, self.multiple, rows.shape[1])


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
    layers = [f"{kind}{layer}" for layer in range(step.layers) for kind in "hc"]
    carried = [*known, *layers, *(["past"] if step.lookback else [])]
    rows = ["uniforms" if sampling else "symbols", *(["conditions"] if step.conditions else [])]
    body = Graph("step_")

    def value(name: str, dtype: type[np.generic] = np.float32) -> Value:
        return Value(body, f"step_{name}", dtype)

    pairs = [(value(f"h{layer}"), value(f"c{layer}")) for layer in range(step.layers)]
    feeding = Feeding(step, [value(name) for name in known], pairs, value("past"), places)
    symbols, made = value("symbols"), list[Value]()
    for place in range(places):

        def row(name: str, dtype: type[np.generic] = np.float32, place: int = place) -> Value:
            return value(name, dtype) if places == 1 else value(name, dtype).at(place)

        given = symbols if sampling else row("symbols")
        result = feeding.feed(given, row("conditions") if step.conditions else None)
        if sampling:
            uniforms = row("uniforms", np.float64).node("Unsqueeze", [-1])
            symbols = result = drawn(result, uniforms, sampling, _OnValues(step.size))
        made.append(result)
    following = [*feeding.known, *chain(*feeding.state), *([feeding.past] if step.lookback else [])]
    if sampling:
        carried, following = ["symbols", *carried], [symbols, *following]
    following.append(made[0] if places == 1 else stacked(made, 0))
    for output, name in zip(following, [*carried, "made"], strict=True):
        body.rename(output, f"step_new_{name}")
    inside = body.finish(
        _untyped(f"step_{name}" for name in carried + rows),
        _untyped(f"step_new_{name}" for name in [*carried, "made"]),
    )
    dims = dict.fromkeys(layers, 2) | dict.fromkeys(["symbols", *known], 1)
    dims |= dict.fromkeys(["past", *rows], 2 if places == 1 else 3)
    inputs = [
        helper.make_tensor_value_info(name, _type_of(name), [None] * dims[name])
        for name in carried + rows
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


def _type_of(name: str) -> int:
    if name.startswith(("symbols", "conditions", "known")):
        return TensorProto.INT64
    return TensorProto.DOUBLE if name == "uniforms" else TensorProto.FLOAT


def _untyped(names: Iterable[str]) -> list[onnx.ValueInfoProto]:
    return [onnx.ValueInfoProto(name=name) for name in names]


def _model(graph: onnx.GraphProto, step: OnnxStep) -> onnx.ModelProto:
    domains = [helper.make_opsetid("", _OPSET)]
    if step.int8:
        domains.append(helper.make_opsetid("com.microsoft", 1))
    return helper.make_model(
        graph, opset_imports=domains, ir_version=_IR_VERSION, producer_name="seqkit"
    )
