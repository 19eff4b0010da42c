"""The draw as nodes of an ONNX graph: the rule of generation/sampling.py."""

import numpy as np
from onnx import TensorProto

from seqkit.generation.engines.onnx_graph import Graph
from seqkit.generation.sampling import Sampling


def add_draw(graph: Graph, logits: str, uniforms: str, sampling: Sampling) -> str:
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
