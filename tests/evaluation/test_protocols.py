"""Every symbol is scored once, under each protocol as one would by hand."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Part
from seqkit.evaluation import protocols
from seqkit.model.char_rnn import CharRNN
from seqkit.runs import checkpoint
from tests.conftest import SENTENCE

V, START = 6, 2


@pytest.fixture
def model() -> CharRNN:
    config = ModelConfig(num_layers=2, hidden_size=9, vocabulary_size=V)
    return CharRNN(config, torch.Generator().manual_seed(5))


def part(*lengths: int) -> Part:
    rng = np.random.default_rng(4)
    starts = np.cumsum([0, *lengths[:-1]]).astype(np.int64)
    return Part(rng.integers(0, V, sum(lengths)).astype(np.uint8), starts)


@torch.no_grad()
def by_hand(model: CharRNN, inputs: list[int], targets: list[int]) -> float:
    """Nats of a run of symbols from the zero state, one step at a time."""
    state, nats = model.zero_state(1), 0.0
    for given, target in zip(inputs, targets, strict=True):
        logits, state = model(torch.tensor([[given]]), state)
        nats -= float(torch.log_softmax(logits[0, 0].double(), 0)[target])
    return nats


@pytest.mark.parametrize("lengths", [(300,), (1,), (40, 1, 200, 7), (3,) * 80])
def test_streaming_carries_the_state_through_each_document(
    model: CharRNN, lengths: tuple[int, ...]
) -> None:
    data = part(*lengths)
    score = protocols.evaluate(model, data, START, protocols.streaming(data))
    expected = 0.0
    for begin, length in zip(data.starts.tolist(), lengths, strict=True):
        symbols = data.symbols[begin : begin + length].tolist()
        expected += by_hand(model, [START, *symbols[:-1]], symbols)
    assert score.symbols == sum(lengths)
    assert score.nats == pytest.approx(expected, rel=1e-5)
    assert score.bits_per_symbol == pytest.approx(score.loss / math.log(2))


def test_windows_start_from_zero_and_count_all_their_symbols(model: CharRNN) -> None:
    data = part(100, 53)
    score = protocols.evaluate(model, data, START, protocols.windowed(data, 16))
    expected = 0.0
    for begin, length in [(0, 100), (100, 53)]:
        symbols = [START, *data.symbols[begin : begin + length].tolist()]
        for first in range(0, length, 16):
            window = symbols[first : first + 17]
            expected += by_hand(model, window[:-1], window[1:])
    assert score.symbols == 153
    assert score.nats == pytest.approx(expected, rel=1e-5)


def test_lanes_that_warm_up_are_close_to_streaming(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = checkpoint.load(checkpoint.find(trained))
    net, start = saved.build(torch.device("cpu")), saved.codec.start
    assert isinstance(saved.codec, Characters)
    symbols = saved.codec.encode(SENTENCE * 600)
    data = Part(symbols, np.array([0, 26_000], dtype=np.int64))
    exact = protocols.evaluate(net, data, start, protocols.streaming(data))
    laned = protocols.evaluate(net, data, start, protocols.laned(data))
    assert laned.symbols == exact.symbols == len(symbols)
    assert laned.loss == pytest.approx(exact.loss, abs=0.001)
    monkeypatch.setattr(protocols, "_WARM", 1)
    cold = protocols.evaluate(net, data, start, protocols.laned(data))
    assert cold.loss > exact.loss + 0.003


def test_it_tells_how_far_it_is(model: CharRNN) -> None:
    data = part(1000)
    seen: list[int] = []
    protocols.evaluate(model, data, START, protocols.streaming(data), watch=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1000
