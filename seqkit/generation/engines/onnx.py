"""The onnx engine: ONNX Runtime on the CPU, many steps and draws in a call.

`one_step` is what `export` writes, too.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, repeat

import numpy as np
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


class OnnxEngine:
    """Generates with ONNX Runtime, in fp32 or with int8 products."""

    block = 64
    reads = True

    def __init__(self, model: CharRNN, size: int, precision: str = "fp32") -> None:
        """`size` is the codec's V, `precision` fp32 or int8."""
        self._step = OnnxStep(model, size, int8=precision == "int8")
        self._sessions: dict[tuple[Sampling, int], onnxruntime.InferenceSession] = {}
        self._reader: onnxruntime.InferenceSession | None = None

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
        # One row of products in 8 bits is done before a second thread has begun.
        threads = 1 if self._step.int8 and len(symbols) == 1 else torch.get_num_threads()
        if (rule, threads) not in self._sessions:
            self._sessions[rule, threads] = open_session(many_steps(self._step, rule), threads)
        session = self._sessions[rule, threads]
        carried = {"symbols": symbols} | self._split(state)
        for block, told in zip(draws, chain(conditions, repeat(None)), strict=False):
            fed = {"uniforms": block} | self._told(block.shape, told)
            *after, drawn = session.run(None, carried | fed)
            carried = dict(zip(carried, after, strict=True))
            yield drawn

    def score(
        self, symbols: Integers, state: State, conditions: Integers | None = None
    ) -> tuple[Floats, State]:
        """See Engine."""
        if self._reader is None:
            self._reader = open_session(reading(self._step), torch.get_num_threads())
        carried = self._split(state)
        fed = {"symbols": symbols} | self._told(symbols.shape, conditions)
        logits, *after = self._reader.run(None, carried | fed)
        given = (torch.from_numpy(values).to(state.h.device) for values in after)
        new = dict(zip(carried, given, strict=True))
        h, c = (torch.stack([new[f"{part}{n}"] for n in range(self._step.layers)]) for part in "hc")
        return logits, State(h, c, new["past"][None] if "past" in new else state.past)

    def _split(self, state: State) -> dict[str, Floats]:
        """The state as both graphs take it."""
        h, c, past = (values.float().cpu().numpy() for values in state)
        layers = zip(self._step.carried, h, c, chain(past, repeat(None)), strict=False)
        return {n: own for names, *values in layers for n, own in zip(names, values, strict=False)}

    def _told(self, shape: tuple[int, ...], told: Integers | None) -> dict[str, Integers]:
        given = np.zeros(shape, np.int64) if told is None else told
        return dict.fromkeys(self._step.told, given)


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


def many_steps(step: OnnxStep, sampling: Sampling) -> onnx.ModelProto:
    """N steps and their draws, in a Scan.

    Symbols (S,), the state and uniforms (N, S) go in, and conditions (N, S) if they are read; the
    last symbols, the state and all drawn symbols (N, S) come out. The state is that of
    `OnnxStep.carried`.
    """

    def add(body: Graph, given: dict[str, str]) -> tuple[dict[str, str], str]:
        pairs = [(given[h], given[c]) for h, c, *_ in step.carried]
        read = given["symbols"], given.get("conditions", "")
        logits, after, past = step.add(body, *read, pairs, given.get("past", ""))
        drawn = _add_draw(body, logits, given["uniforms"], sampling)
        new = {"symbols": drawn, "past": past}
        for (h, c, *_), values in zip(step.carried, after, strict=True):
            new[h], new[c] = values
        return new, drawn

    carried, rows = ["symbols", *chain(*step.carried)], ["uniforms", *step.told]
    graph = Graph()
    made = graph.append(_scan(carried, rows, "drawn", add))
    return _model(graph.finish(_typed(carried + rows, flat="symbols"), _untyped(made)), step)


def reading(step: OnnxStep) -> onnx.ModelProto:
    """N steps of given symbols, layer by layer: each product with an input is one for all of them.

    The state and symbols (N, S) go in, and conditions (N, S) if they are read; logits (N, S, V) and
    the state come out.
    """
    graph, rows, state = Graph(), ["symbols", *step.told], list[str]()
    outputs = [f"outputs{layer}" for layer in range(step.layers)]
    for layer, carried in enumerate(step.carried):

        def add(
            body: Graph, given: dict[str, str], layer: int = layer, names: list[str] = carried
        ) -> tuple[dict[str, str], str]:
            h, c, *others = given.values()
            inputs, past = others[-1], ""
            if not layer:
                told, past = given.get("conditions", ""), given.get("past", "")
                inputs, past = step.inputs(body, given["symbols"], told, past)
            h, c = step.advance(body, layer, inputs, h, c)
            return dict(zip(names, (h, c, past), strict=False)), h

        read = [step.product(graph, layer, outputs[layer - 1])] if layer else rows
        state += graph.append(_scan(carried, read, outputs[layer], add))[:-1]
    graph.rename(step.head(graph, outputs), "logits")
    inputs = _typed([*chain(*step.carried), *rows])
    return _model(graph.finish(inputs, _untyped(["logits", *state])), step)


def _scan(
    carried: list[str],
    rows: list[str],
    made: str,
    add: Callable[[Graph, dict[str, str]], tuple[dict[str, str], str]],
) -> onnx.NodeProto:
    """A loop over `rows` with a `carried` state: new_… of that, and a row of `made` each time.

    `add` builds its body: given the names there, it returns those of the new state and of `made`.
    """
    body = Graph(f"{made}_")
    inside = {name: f"{made}_{name}" for name in (*carried, *rows)}
    new, row = add(body, inside)
    results = {f"new_{name}": new[name] for name in carried} | {made: row}
    for name, value in results.items():
        body.rename(value, f"{made}_{name}")
    given = body.finish(_untyped(inside.values()), _untyped(f"{made}_{name}" for name in results))
    return helper.make_node("Scan", [*inside], [*results], body=given, num_scan_inputs=len(rows))


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


def _typed(names: Iterable[str], flat: str = "") -> list[onnx.ValueInfoProto]:
    """What goes in, of two dimensions but for one name."""
    return [
        helper.make_tensor_value_info(
            name, _TYPES.get(name, TensorProto.FLOAT), [None] * (1 if name == flat else 2)
        )
        for name in names
    ]


def _untyped(names: Iterable[str]) -> list[onnx.ValueInfoProto]:
    return [onnx.ValueInfoProto(name=name) for name in names]


def _model(graph: onnx.GraphProto, step: OnnxStep) -> onnx.ModelProto:
    domains = [helper.make_opsetid("", _OPSET)]
    if step.int8:
        domains.append(helper.make_opsetid("com.microsoft", 1))
    return helper.make_model(
        graph, opset_imports=domains, ir_version=_IR_VERSION, producer_name="seqkit"
    )
