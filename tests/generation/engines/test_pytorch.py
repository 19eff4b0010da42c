"""The prepared step makes what the model makes."""

import numpy as np
import pytest
import torch

from seqkit.generation.engine import Drawing
from seqkit.generation.engines.pytorch import TorchEngine
from seqkit.generation.sampling import Sampling, penalised
from tests.generation.engines.networks import (
    CONDITIONS,
    RULES,
    check_draws,
    conditioned,
    differences,
    flat,
    network,
)


@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("embedding", [False, True])
def test_logits_are_the_models(cell: str, embedding: bool) -> None:
    model = network(2, 12, 9, cell, embedding)
    logits, state = differences(TorchEngine(model, 8), model, 8, streams=3, steps=40)
    assert logits < 1e-5
    assert state < 1e-6


def test_matrices_that_lie_transposed() -> None:
    model = network(2, 768, 9)
    assert differences(TorchEngine(model, 9), model, 9, streams=2, steps=5)[0] < 1e-4


def test_symbols_are_drawn_by_the_rule() -> None:
    model = network(1, 12, 9)
    check_draws(TorchEngine(model, 9), model, 2, 60, RULES[5])


@pytest.mark.gpu
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
def test_on_a_gpu(cell: str) -> None:
    model = network(2, 64, 33, cell, device="cuda")
    engine = TorchEngine(model, 33)
    logits, state = differences(engine, model, 33, streams=3, steps=200)
    assert logits < 1e-3
    assert state < 1e-4


@pytest.mark.parametrize("streams", [1, 3])
@pytest.mark.parametrize("read", CONDITIONS)
def test_conditions_are_read(streams: int, read: tuple[int, int]) -> None:
    model = conditioned(read)
    engine = TorchEngine(model, 20)
    logits, state = differences(engine, model, 20, streams, steps=50)
    assert logits < 1e-3
    assert state < 1e-4
    check_draws(engine, model, streams, 300, Sampling(seed=3))


def test_a_penalty_makes_recent_symbols_less_likely() -> None:
    logits = np.array([[2.0, -1.0, 0.5], [1.0, 3.0, -2.0]], np.float32)
    recent = [np.array([0, 2]), np.array([1, 2]), np.array([0, 1])]
    less = penalised(logits, recent, 2.0)
    assert less.tolist() == [[1.0, -2.0, 0.5], [1.0, 1.5, -4.0]]
    assert penalised(logits, recent, 1.0) is logits


def test_a_penalty_ends_repetition() -> None:
    model = flat(30)
    with torch.no_grad():
        model.head.bias.zero_()[7] = 4  # drawn most of the time

    def share(penalty: float) -> float:
        engine, state = TorchEngine(model, 30, penalty=penalty), model.zero_state(2)
        draws = [np.random.default_rng(1).random((400, 2))]
        blocks = engine.sample(Drawing(np.array([7, 7]), state, draws, Sampling()))
        return float((np.concatenate([*blocks]) == 7).mean())

    assert share(1.0) > 0.5 > 2 * share(3.0) > 0
