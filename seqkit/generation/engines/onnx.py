"""The onnx engine: ONNX Runtime on the CPU, many steps and draws in a call.

`one_step` is what `export` writes, too.
"""

import dataclasses
from collections.abc import Iterable, Iterator
from itertools import chain, repeat
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import onnxruntime
import torch
from onnx import TensorProto, helper

from seqkit.generation.engine import NOTHING_TOLD
from seqkit.generation.engines.onnx_graph import Graph, OnnxStep
from seqkit.generation.sampling import Sampling
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
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
        self._sessions: dict[tuple[Sampling | None, int], onnxruntime.InferenceSession] = {}

    def sample(
        self,
        symbols: Integers,
        state: State,
        draws: Iterable[Floats],
        sampling: Sampling,
        conditions: Iterable[Integers] = NOTHING_TOLD,
    ) -> Iterator[Integers]:
        """See Engine."""
        rule = dataclasses.replace(sampling, seed=0)
        carried = [symbols, *self._split(state)]
        for block, told in zip(draws, chain(conditions, repeat(None)), strict=False):
            *carried, drawn = self._run(rule, carried, block, told)
            yield drawn

    def score(
        self, symbols: Integers, state: State, conditions: Integers | None = None
    ) -> tuple[Floats, State]:
        """See Engine."""
        *after, logits = self._run(None, self._split(state), symbols, conditions)
        given = [torch.from_numpy(values).to(state.h.device) for values in after]
        layers = 2 * self._step.layers
        h, c = torch.stack(given[0:layers:2]), torch.stack(given[1:layers:2])
        return logits, State(h, c, given[layers][None] if self._step.lookback else state.past)

    def _split(self, state: State) -> list[Arrays]:
        """The state as `many_steps` takes it."""
        h, c, past = (values.float().cpu().numpy() for values in state)
        layers = [array for pair in zip(h, c, strict=True) for array in pair]
        return [*layers, *(past if self._step.lookback else ())]

    def _run(
        self, rule: Sampling | None, carried: list[Arrays], rows: Arrays, told: Integers | None
    ) -> list[Arrays]:
        """What `many_steps` makes of what is carried and of rows (N, S)."""
        # One row of products in 8 bits is done before a second thread has begun.
        alone = self._step.int8 and rows.shape[1] == 1
        threads = 1 if alone else torch.get_num_threads()
        if (rule, threads) not in self._sessions:
            self._sessions[rule, threads] = open_session(many_steps(self._step, rule), threads)
        session = self._sessions[rule, threads]
        known = [np.zeros(rows.shape, np.int64) if told is None else told]
        given = [*carried, rows, *(known if self._step.conditions else ())]
        names = [value.name for value in session.get_inputs()]
        made: list[Arrays] = session.run(None, dict(zip(names, given, strict=True)))
        return made


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
    past (1, S, K) and new_past, too. One that reads conditions has them as its last input: (S,), of
    what follows.
    """
    graph = Graph()
    axis = graph.constant([0], np.int64)

    def layers(name: str) -> list[str]:
        parts = graph.add("Split", name, outputs=step.layers, axis=0, num_outputs=step.layers)
        return [graph.one("Squeeze", part, axis) for part in parts]

    h = layers("h")
    c = layers("c") if "c" in step.state else h
    before = graph.one("Squeeze", "past", axis) if step.lookback else ""
    pairs = list(zip(h, c, strict=True))
    logits, after, past = step.add(graph, "symbols", "conditions", pairs, before)
    graph.rename(logits, "logits")
    found = dict(zip("hc", zip(*after, strict=True), strict=True)) | {"past": (past,)}
    for name in step.state:
        stacked = [graph.one("Unsqueeze", part, axis) for part in found[name]]
        graph.rename(graph.one("Concat", *stacked, axis=0), f"new_{name}")
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
    pairs = [(f"step_h{layer}", f"step_c{layer}") for layer in range(step.layers)]
    made, after, past = step.add(body, "step_symbols", "step_conditions", pairs, "step_past")
    following = [*chain(*after), *([past] if step.lookback else [])]
    if sampling:
        made = _add_draw(body, made, "step_uniforms", sampling)
        carried, following = ["symbols", *carried], [made, *following]
    for value, name in zip([*following, made], [*carried, "made"], strict=True):
        body.rename(value, f"step_new_{name}")
    inside = body.finish(
        _untyped(f"step_{name}" for name in carried + rows),
        _untyped(f"step_new_{name}" for name in [*carried, "made"]),
    )
    given = [
        helper.make_tensor_value_info(name, _TYPES.get(name, TensorProto.FLOAT), [None] * dims)
        for names, dims in ((carried[:1], 1 if sampling else 2), (carried[1:] + rows, 2))
        for name in names
    ]
    new = _untyped(f"new_{name}" for name in [*carried, "made"])
    scan = helper.make_node(
        "Scan",
        [value.name for value in given],
        [value.name for value in new],
        body=inside,
        num_scan_inputs=len(rows),
    )
    return _model(helper.make_graph([scan], "seqkit", given, new), step)


def _add_draw(graph: Graph, logits: str, uniforms: str, sampling: Sampling) -> str:
    """Draw symbols (S,) from logits (S, V) with uniforms (S,), by the rule of `sampling.draw`."""
    last = graph.constant([-1], np.int64)
    if sampling.temperature == 0:
        return graph.one("ArgMax", logits, axis=-1, keepdims=0)
    if sampling.top_k is not None:
        logits = _keep_top_k(graph, logits, sampling.top_k)
    scaled = graph.one("Cast", logits, to=TensorProto.DOUBLE)
    scaled = graph.one("Div", scaled, graph.constant(sampling.temperature, np.float64))
    shares = graph.one("Softmax", scaled, axis=-1)
    if sampling.top_p is not None and sampling.top_p < 1:
        shares = _keep_top_p(graph, shares, sampling.top_p)
    cumulative = graph.one("CumSum", shares, graph.constant(1, np.int64))
    whole = graph.one("ReduceMax", cumulative, last)
    target = graph.one("Mul", graph.one("Unsqueeze", uniforms, last), whole)
    below = graph.one("LessOrEqual", cumulative, target)
    return graph.one("ReduceSum", graph.one("Cast", below, to=TensorProto.INT64), last, keepdims=0)


def _keep_top_k(graph: Graph, logits: str, k: int) -> str:
    last = graph.constant([-1], np.int64)
    k_or_all = graph.one("Min", _size(graph, logits), graph.constant([k], np.int64))
    likeliest, _ = graph.add("TopK", logits, k_or_all, outputs=2)
    kth = graph.one("ReduceMin", likeliest, last)
    below = graph.one("Less", logits, kth)
    return graph.one("Where", below, graph.constant(-np.inf, np.float32), logits)


def _keep_top_p(graph: Graph, shares: str, p: float) -> str:
    one = graph.constant(1, np.int64)
    ordered, order = graph.add("TopK", shares, _size(graph, shares), outputs=2)
    before = graph.one("CumSum", ordered, one, exclusive=1)
    enough = graph.one("GreaterOrEqual", before, graph.constant(p, np.float64))
    none = graph.constant(0, np.float64)
    kept = graph.one("Where", enough, none, ordered)
    blank = graph.one("Mul", shares, none)
    return graph.one("ScatterElements", blank, order, kept, axis=1)


def _size(graph: Graph, values: str) -> str:
    """V of values (S, V), as a list of one."""
    last, end = graph.constant([-1], np.int64), graph.constant([2], np.int64)
    return graph.one("Slice", graph.one("Shape", values), last, end)


def _untyped(names: Iterable[str]) -> list[onnx.ValueInfoProto]:
    return [onnx.ValueInfoProto(name=name) for name in names]


def _model(graph: onnx.GraphProto, step: OnnxStep) -> onnx.ModelProto:
    domains = [helper.make_opsetid("", _OPSET)]
    if step.int8:
        domains.append(helper.make_opsetid("com.microsoft", 1))
    return helper.make_model(
        graph, opset_imports=domains, ir_version=_IR_VERSION, producer_name="seqkit"
    )
