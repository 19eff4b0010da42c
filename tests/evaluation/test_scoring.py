"""Every symbol is scored once, by each protocol as one would by hand."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.evaluation import dynamic, scoring
from seqkit.evaluation.scoring import Scored
from seqkit.model.char_rnn import CharRNN

V, START = 6, 2
RNG = np.random.default_rng(5)


@pytest.fixture
def model() -> CharRNN:
    config = ModelConfig(num_layers=2, hidden_size=9, vocabulary_size=V)
    return CharRNN(config, torch.Generator().manual_seed(5))


def part(*lengths: int) -> Part:
    rng = np.random.default_rng(4)
    starts = np.cumsum([0, *lengths[:-1]]).astype(np.int64)
    return Part(rng.integers(0, V, sum(lengths)).astype(np.uint8), starts)


@torch.no_grad()
def by_hand(model: CharRNN, inputs: list[int], targets: list[int]) -> list[float]:
    """Nats of each of a run of symbols from the zero state, one step at a time."""
    state, nats = model.zero_state(1), []
    for given, target in zip(inputs, targets, strict=True):
        logits, state = model(torch.tensor([[given]]), state)
        nats.append(-float(torch.log_softmax(logits[0, 0].double(), 0)[target]))
    return nats


@pytest.mark.parametrize("protocol", ["streaming", "windowed", "warmed"])
@pytest.mark.parametrize("lengths", [(700, 1, 90), (1,), (3,) * 80])
def test_every_place_has_its_nats(model: CharRNN, protocol: str, lengths: tuple[int, ...]) -> None:
    data = part(*lengths)
    segments = {
        "streaming": scoring.streaming(data),
        "windowed": scoring.windowed(data, 50),
        "warmed": scoring.warmed(data),
    }[protocol]
    each = np.full(len(data), np.nan)
    for chunk in scoring.chunks(Scored(model, data, START), segments):
        places, values = chunk.counted_nats()
        assert np.isnan(each[places]).all()
        each[places] = values
    score = scoring.evaluate(Scored(model, data, START), segments)
    assert score.symbols == sum(lengths)
    assert each.sum() == pytest.approx(score.nats, rel=1e-6)
    assert score.bits_per_symbol == pytest.approx(score.loss / math.log(2))
    for warm, begin, end in segments.tolist():
        before = START if warm in data.starts else int(data.symbols[warm - 1])
        symbols = [before, *data.symbols[warm:end].tolist()]
        expected = by_hand(model, symbols[:-1], symbols[1:])
        np.testing.assert_allclose(each[begin:end], expected[begin - warm :], rtol=1e-4)


def test_the_end_of_a_document_is_no_symbol_that_could_have_followed(model: CharRNN) -> None:
    data, config = part(30, 40), dataclasses.replace(model.config, vocabulary_size=V + 1, ends=True)
    with_ends = CharRNN(config)
    for name, values in with_ends.state_dict().items():
        own = model.state_dict()[name]
        cut = tuple(slice(count) for count in own.shape)
        values[cut] = own
    found, expected = (
        scoring.evaluate(Scored(net, data, START), scoring.streaming(data)).loss
        for net in (with_ends, model)
    )
    assert found == pytest.approx(expected, rel=1e-6)
    settings = dynamic.Learning(rate=0.0)
    learnt = dynamic.evaluate(Scored(with_ends, data, START), settings)
    assert learnt.loss == pytest.approx(expected, rel=1e-5)
