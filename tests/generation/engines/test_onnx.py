"""ONNX Runtime makes the same steps and the same draws."""

from typing import Any

import numpy as np
import pytest
import torch

from seqkit.generation.engine import Drawing
from seqkit.generation.engines import onnx
from seqkit.generation.engines.onnx import OnnxEngine
from seqkit.generation.sampling import Sampling
from tests.generation.engines.networks import (
    CONDITIONS,
    RULES,
    check_draws,
    conditioned,
    differences,
    network,
)


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("embedding", [False, True])
def test_logits_are_the_models(cell: str, embedding: bool) -> None:
    model = network(2, 24, 9, cell, embedding)
    logits, state = differences(OnnxEngine(model, 8, "fp32"), model, 8, streams=3, steps=50)
    assert logits < 1e-5
    assert state < 1e-6


@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_int8_stays_near(cell: str) -> None:
    model = network(2, 72, 30, cell)
    engine = OnnxEngine(model, 30, "int8")
    logits, state = differences(engine, model, 30, streams=2, steps=300)
    assert 0 < logits < 0.1
    assert state < 0.03


def test_a_clip_of_the_cell_values_is_kept() -> None:
    model = network(1, 12, 9)
    model.config.backend, model.config.cell_clip = "unrolled", 0.05
    assert differences(OnnxEngine(model, 9, "fp32"), model, 9, streams=1, steps=20)[0] < 1e-5


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize("sampling", RULES)
def test_symbols_are_drawn_by_the_rule(precision: str, sampling: Sampling) -> None:
    model = network(2, 24, 33)
    check_draws(OnnxEngine(model, 33, precision), model, 3, 200, sampling)


def test_top_k_keeps_ties_and_takes_any_k() -> None:
    model = network(1, 8, 6)
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.copy_(torch.tensor([1.0, 3.0, 2.0, 2.0, 2.0, 0.0]))
    engine = OnnxEngine(model, 6, "fp32")
    state = model.zero_state(1)
    draws = [np.linspace(0, 0.999, 200)[:, None]]
    first = np.zeros(1, np.int64)
    tied = next(engine.sample(Drawing(first, state, draws, Sampling(top_k=2))))
    assert set(tied.ravel().tolist()) == {1, 2, 3, 4}
    every = next(engine.sample(Drawing(first, state, draws, Sampling(top_k=1000))))
    assert set(every.ravel().tolist()) == {0, 1, 2, 3, 4, 5}


def test_skip_connections_are_known() -> None:
    model = network(3, 12, 9)
    model.config.skip_connections = True
    assert differences(OnnxEngine(model, 9, "fp32"), model, 9, streams=2, steps=30)[0] < 1e-5


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("read", CONDITIONS)
def test_conditions_are_read(streams: int, read: tuple[int, int]) -> None:
    model = conditioned(read)
    engine = OnnxEngine(model, 20, "fp32")
    logits, state = differences(engine, model, 20, streams, steps=50)
    assert logits < 1e-3
    assert state < 1e-4
    check_draws(engine, model, streams, 300, Sampling(seed=3))


def test_a_stream_keeps_its_session_whatever_pytorchs_threads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened, real = [], onnx.open_session

    def counted(graph: Any, threads: int) -> Any:
        opened.append(threads)
        return real(graph, threads)

    monkeypatch.setattr(torch, "get_num_threads", lambda: len(opened) + 1)
    monkeypatch.setattr(onnx, "open_session", counted)
    model = network(1, 8, 6)
    engine = OnnxEngine(model, 6)
    for _ in range(3):
        engine.score(np.zeros((2, 1), np.int64), model.zero_state(1))
    assert opened == [1]
