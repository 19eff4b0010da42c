"""Whole ONNX models: one step for export, and many steps in a Scan for the engine."""

import numpy as np
import onnx
from onnx import TensorProto, helper

from seqkit.generation.engines.onnx_graph import Graph, OnnxStep
from seqkit.generation.sampling import Sampling

_OPSET = 18
_IR_VERSION = 9


def one_step(step: OnnxStep) -> onnx.ModelProto:
    """One step, for export: symbols (S,), h and c (L, S, H) in; logits (S, V), new h and c out.

    Cells without a c have neither its input nor its output.
    """
    graph = Graph()
    lstm = step.cell == "lstm"
    axis = graph.constant([0], np.int64)

    def layers(name: str) -> list[str]:
        parts = graph.add("Split", name, outputs=step.layers, axis=0, num_outputs=step.layers)
        return [graph.one("Squeeze", part, axis) for part in parts]

    h = layers("h")
    c = layers("c") if lstm else h
    logits, after = step.add(graph, "symbols", list(zip(h, c, strict=True)))
    graph.rename(logits, "logits")
    for place, name in enumerate("hc" if lstm else "h"):
        stacked = [graph.one("Unsqueeze", layer[place], axis) for layer in after]
        graph.rename(graph.one("Concat", *stacked, axis=0), f"new_{name}")
    names = "hc" if lstm else "h"
    shape: list[str | int | None] = [step.layers, "S", step.hidden]
    tensor = helper.make_tensor_value_info
    state = [tensor(name, TensorProto.FLOAT, shape) for name in names]
    new = [tensor(f"new_{name}", TensorProto.FLOAT, shape) for name in names]
    inputs = [tensor("symbols", TensorProto.INT64, ["S"]), *state]
    outputs = [tensor("logits", TensorProto.FLOAT, ["S", step.size]), *new]
    return _model(graph.finish(inputs, outputs), step)


def many_steps(step: OnnxStep, sampling: Sampling | None) -> onnx.ModelProto:
    """N steps in a Scan.

    With `sampling`: symbols (S,), state and uniforms (N, S) in; the last symbols, the state and all
    drawn symbols (N, S) out. Without: state and symbols (N, S) in; state and logits (N, S, V) out.
    The state is h0 c0 h1 c1 ..., each (S, H).
    """
    body = Graph("step_")
    names = [f"{kind}{layer}" for layer in range(step.layers) for kind in "hc"]
    inner = [f"step_{name}" for name in names]
    pairs = list(zip(inner[::2], inner[1::2], strict=True))
    logits, after = step.add(body, "step_symbols", pairs)
    carried = [_value(name, TensorProto.FLOAT, 2) for name in inner]
    for name, value in zip(names, [value for pair in after for value in pair], strict=True):
        body.rename(value, f"step_new_{name}")
    new = [_value(f"step_new_{name}", TensorProto.FLOAT, 2) for name in names]
    fed = _value("step_symbols", TensorProto.INT64, 1)
    if sampling is None:
        body.rename(logits, "step_logits")
        inside = body.finish([*carried, fed], [*new, _value("step_logits", TensorProto.FLOAT, 2)])
        scanned = [_value("symbols", TensorProto.INT64, 2)]
        given, made = [], _value("logits", TensorProto.FLOAT, 3)
    else:
        drawn = _add_draw(body, logits, "step_uniforms", sampling)
        body.rename(drawn, "step_next")
        body.rename(drawn, "step_drawn")
        uniforms = _value("step_uniforms", TensorProto.DOUBLE, 1)
        following = [_value(name, TensorProto.INT64, 1) for name in ("step_next", "step_drawn")]
        inside = body.finish([fed, *carried, uniforms], [following[0], *new, following[1]])
        scanned = [_value("uniforms", TensorProto.DOUBLE, 2)]
        given, made = (
            [_value("symbols", TensorProto.INT64, 1)],
            _value("drawn", TensorProto.INT64, 2),
        )
    inputs = [*given, *(_value(name, TensorProto.FLOAT, 2) for name in names), *scanned]
    last = [_value("last", TensorProto.INT64, 1)] if sampling else []
    outputs = [*last, *(_value(f"new_{name}", TensorProto.FLOAT, 2) for name in names), made]
    scan = helper.make_node(
        "Scan",
        [value.name for value in inputs],
        [value.name for value in outputs],
        body=inside,
        num_scan_inputs=1,
    )
    return _model(helper.make_graph([scan], "seqkit", inputs, outputs), step)


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


def _value(name: str, kind: int, rank: int) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, [None] * rank)


def _model(graph: onnx.GraphProto, step: OnnxStep) -> onnx.ModelProto:
    domains = [helper.make_opsetid("", _OPSET)]
    if step.int8:
        domains.append(helper.make_opsetid("com.microsoft", 1))
    return helper.make_model(
        graph, opset_imports=domains, ir_version=_IR_VERSION, producer_name="seqkit"
    )
