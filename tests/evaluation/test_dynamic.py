"""A learner predicts first and learns afterwards, by the rule of its docstring."""

import numpy as np
import pytest
import torch

from seqkit.config import DynamicConfig, ModelConfig
from seqkit.data.corpus import Part
from seqkit.evaluation import dynamic, streaming
from seqkit.evaluation.dynamic import Learner
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


def window(model: CharRNN, length: int = 7, lanes: int = 3) -> tuple[torch.Tensor, ...]:
    """Inputs and targets (T, B)."""
    symbols = torch.randint(0, V, (length + 1, lanes), generator=torch.Generator().manual_seed(1))
    return symbols[:-1], symbols[1:].clone()


def test_without_updates_it_is_streaming(model: CharRNN) -> None:
    part = part_of(300, 1, 41)
    static = streaming.evaluate(Scored(model, part, START))
    for settings in (DynamicConfig(rate=0.0), DynamicConfig(decay=1.0), DynamicConfig(window=1000)):
        whole = part if settings.window < 1000 else part_of(300)
        expected = static if whole is part else streaming.evaluate(Scored(model, whole, START))
        found = dynamic.evaluate(Scored(model, whole, START), settings)
        assert found.symbols == len(whole)
        assert found.loss == pytest.approx(expected.loss, rel=1e-6)


def test_every_document_is_read_with_what_was_learnt_before(model: CharRNN) -> None:
    part = part_of(70, 1, 40)
    settings = DynamicConfig(rate=0.01, decay=0.02, window=16)
    watched: list[int] = []
    found = dynamic.evaluate(Scored(model, part, START, watched.append), settings)
    learner, nats = Learner(model, settings), 0.0
    for first, length in zip(part.starts.tolist(), (70, 1, 40), strict=True):
        state = model.zero_state(1)
        symbols = [START, *part.symbols[first : first + length].tolist()]
        for begin in range(0, length, 16):
            given = torch.tensor(symbols[begin : begin + 17])[:, None]
            each, state = learner.read(given[:-1], given[1:], state)
            nats += float(each.sum())
    assert found.nats == pytest.approx(nats, rel=1e-6)
    assert watched == [16, 32, 48, 64, 70, 71, 87, 103, 111]


def test_a_window_is_predicted_before_it_is_learnt(model: CharRNN) -> None:
    inputs, targets = window(model)
    learner = Learner(model, DynamicConfig(rate=0.1))
    before, _ = model(inputs, model.zero_state(3))
    nats, _ = learner.read(inputs, targets, model.zero_state(3))
    torch.testing.assert_close(nats, cross_entropy(before, targets, "none").detach())
    again, _ = learner.read(inputs, targets, model.zero_state(3))
    assert float(again.sum()) < float(nats.sum())


def test_a_text_that_repeats_is_learnt(model: CharRNN) -> None:
    part = Part.of(np.tile(np.arange(V, dtype=np.uint8), 300))
    static = streaming.evaluate(Scored(model, part, START))
    learnt = dynamic.evaluate(Scored(model, part, START), DynamicConfig(rate=0.01))
    assert learnt.loss < 0.5 * static.loss
