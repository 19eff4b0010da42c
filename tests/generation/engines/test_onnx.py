"""ONNX Runtime makes the same steps and the same draws."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from seqkit.conditions import Conditions
from seqkit.generation.engine import Drawing
from seqkit.generation.engines import onnx
from seqkit.generation.engines.onnx import OnnxEngine
from seqkit.generation.engines.pytorch import TorchEngine
from seqkit.generation.sampling import Sampling
from tests.generation.engines.networks import (
    CONDITIONS,
    RULES,
    check_draws,
    conditioned,
    differences,
    in_frames,
    network,
    random_state,
)

PLACES = [(1, 0), (2, 0), (2, 1), (4, 0), (4, 1), (4, 3)]
"""Symbols of a step, and inputs of one that came before a drawing."""


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


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("embedding", [False, True])
def test_logits_of_frames_are_the_models(cell: str, embedding: bool) -> None:
    model = network(2, 24, 9, cell, embedding, skips=embedding, places=4)
    logits, state = differences(OnnxEngine(model, 8), model, 8, streams=3, steps=48)
    assert logits < 1e-4
    assert state < 1e-5


@pytest.mark.parametrize("sampling", [RULES[0], RULES[2], RULES[5]])
@pytest.mark.parametrize(("places", "fed"), PLACES)
def test_frames_are_drawn_as_pytorch_draws_them(places: int, fed: int, sampling: Sampling) -> None:
    model, count = in_frames(places), 17 * places - 1
    draw = np.random.default_rng(places + fed)
    draws, first = draw.random((count, 3)), draw.integers(0, 20, 3)
    codes = torch.from_numpy(draw.integers(0, 9, (18, 3)).repeat(places, 0)[fed:])

    def drawn(engine: OnnxEngine | TorchEngine, *cuts: int) -> Any:
        parts = [slice(*part) for part in itertools.pairwise((0, *cuts, count))]
        blocks = [draws[part] for part in parts], [Conditions(codes[part]) for part in parts]
        state = random_state(model, 3, fed)
        made = [*engine.sample(Drawing(first, state, blocks[0], sampling, blocks[1]))]
        assert [len(block) for block in made] == [len(block) for block in blocks[0]]
        return np.concatenate(made)

    expected = drawn(TorchEngine(model, 20))
    assert sampling.temperature == 0 or len(np.unique(expected)) > 3
    engine = OnnxEngine(model, 20)
    for cuts in ((), (places, 5 * places), (15 * places,)):
        assert (drawn(engine, *cuts) == expected).all()


@pytest.mark.parametrize(("places", "fed"), PLACES)
def test_a_state_may_be_any_place_of_a_frame(places: int, fed: int) -> None:
    model, draw = in_frames(places), np.random.default_rng(fed)
    symbols = draw.integers(0, 20, (8 * places, 2))
    known = Conditions(
        torch.from_numpy(draw.integers(0, 9, (9, 2)).repeat(places, 0)[fed:][: len(symbols)])
    )
    state = random_state(model, 2, fed)
    logits, after = OnnxEngine(model, 20).score(symbols, state, known)
    expected, end = TorchEngine(model, 20).score(symbols, state, known)
    assert np.abs(logits - expected).max() < 1e-3
    for one, other in zip(after, end, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(one, other, atol=1e-4)


@pytest.mark.parametrize("places", [2, 4])
def test_frames_in_int8_stay_near(places: int) -> None:
    model = network(2, 72, 30, places=places)
    engine = OnnxEngine(model, 30, "int8")
    logits, state = differences(engine, model, 30, streams=2, steps=300)
    assert 0 < logits < 0.2
    assert state < 0.03
    check_draws(engine, model, 3, 201, RULES[5])


def test_only_the_last_block_is_cut_within_a_frame() -> None:
    model = in_frames(4)
    engine, state = OnnxEngine(model, 20), model.zero_state(1)
    assert (engine.block % engine.multiple, engine.multiple) == (0, 4)
    blocks = [np.zeros((6, 1)), np.zeros((4, 1))]
    drawing = Drawing(np.zeros(1, np.int64), state, blocks, Sampling())
    with pytest.raises(ValueError, match="multiple of 4"):
        list(engine.sample(drawing))
    with pytest.raises(ValueError, match="multiple of 4"):
        engine.score(np.zeros((6, 1), np.int64), state)
