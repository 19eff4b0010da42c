"""The prepared step makes what the model makes."""

import pytest

from seqkit.generation.engines.pytorch import PreparedStep, TorchEngine
from seqkit.generation.sampler import Sampling
from tests.generation.engines.networks import (
    RULES,
    check_draws,
    differences,
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
    logits, state = differences(PreparedStep(model, 33), model, 33, streams=3, steps=200)
    assert logits < 1e-3
    assert state < 1e-4


@pytest.mark.parametrize("streams", [1, 3])
def test_labels_are_read(streams: int) -> None:
    model = network(2, 32, 20, embedding=True, labels=3)
    engine = TorchEngine(model, 20)
    logits, state = differences(engine, model, 20, streams, steps=50)
    assert logits < 1e-3
    assert state < 1e-4
    check_draws(engine, model, streams, 300, Sampling(seed=3))
