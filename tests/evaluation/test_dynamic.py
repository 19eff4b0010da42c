"""A learner predicts first and learns afterwards, by the rule of its docstring."""

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.evaluation import dynamic, streaming
from seqkit.evaluation.dynamic import Learning
from seqkit.evaluation.scoring import Scored
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import cross_entropy

V, START = 6, 2


@pytest.fixture
def model() -> CharRNN:
    config = ModelConfig(num_layers=2, hidden_size=9, vocabulary_size=V)
    return CharRNN(config, torch.Generator().manual_seed(5))


def part_of(*lengths: int) -> Part:
    draw = np.random.default_rng(4)
    return Part.of(*(draw.integers(0, V, length).astype(np.uint8) for length in lengths))


def test_without_updates_it_is_streaming(model: CharRNN) -> None:
    part = part_of(300, 1, 41)
    static = streaming.evaluate(Scored(model, part, START))
    for settings in (
        Learning(rate=0.0),
        Learning(decay=1.0),
        Learning(window=1000),
    ):
        whole = part if settings.window < 1000 else part_of(300)
        expected = static if whole is part else streaming.evaluate(Scored(model, whole, START))
        found = dynamic.evaluate(Scored(model, whole, START), settings)
        assert found.symbols == len(whole)
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)


def test_every_document_is_read_with_what_was_learnt_before(model: CharRNN) -> None:
    part, rate, decay = part_of(70, 1, 40), 0.01, 0.02
    watched: list[int] = []
    settings = Learning(rate=rate, decay=decay, window=16)
    found = dynamic.evaluate(Scored(model, part, START, watched.append), settings)
    learner, nats, updates = model.copied().requires_grad_(), 0.0, 0
    weights = [*zip(learner.parameters(), model.parameters(), strict=True)]
    squares = [torch.zeros_like(trained) for _, trained in weights]
    for first, length in zip(part.starts.tolist(), (70, 1, 40), strict=True):
        state = learner.zero_state(1)
        symbols = torch.tensor([START, *part.symbols[first : first + length].tolist()])[:, None]
        for begin in range(0, length, 16):
            given = symbols[begin : begin + 17]
            logits, after = learner(given[:-1], state)  # by weights that have not seen it
            loss, state, updates = cross_entropy(logits, given[1:]), after.detached(), updates + 1
            nats += float(loss.detach()) * (len(given) - 1)
            gradients = torch.autograd.grad(loss, [own for own, _ in weights])
            for (own, trained), square, gradient in zip(weights, squares, gradients, strict=True):
                square.lerp_(gradient**2, 0.001)
                root = (square / (1 - 0.999**updates)).sqrt()
                with torch.no_grad():
                    own.sub_(rate * gradient / (root + 1e-8)).lerp_(trained, decay)
    assert found.nats == pytest.approx(nats, rel=1e-5)
    assert watched == [16, 32, 48, 64, 70, 71, 87, 103, 111]


def test_a_text_that_repeats_is_learnt(model: CharRNN) -> None:
    part = Part.of(np.tile(np.arange(V, dtype=np.uint8), 300))
    static = streaming.evaluate(Scored(model, part, START))
    learnt = dynamic.evaluate(Scored(model, part, START), Learning(rate=0.01))
    assert learnt.loss < 0.5 * static.loss
