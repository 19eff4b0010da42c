"""Pieces that run side by side give the score of the whole stream."""

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.evaluation import scoring, streaming
from seqkit.evaluation.scoring import CHUNK, Scored
from seqkit.evaluation.streaming import stretches
from seqkit.model.char_rnn import CharRNN

V = 5
START = 2


def network(forget_bias: float, size: int = V, *, ends: bool = False) -> CharRNN:
    """An LSTM whose cells forget at a rate that this bias of the forget gate sets."""
    config = ModelConfig(num_layers=2, hidden_size=6, vocabulary_size=size, ends=ends)
    model = CharRNN(config, torch.Generator().manual_seed(1))
    with torch.no_grad():
        for layer in model.runnable_weights().layers.weights:
            layer.b[6:12] = forget_bias  # rows i, f, g, o
            layer.b[:6] -= forget_bias / 5  # what adds up for long must not saturate
            layer.w[6:12] = 0.0
            layer.u[6:12] = 0.0
    return model


def part_of(*lengths: int) -> Part:
    draw = np.random.default_rng(3)
    return Part.of(*(draw.integers(0, V, n).astype(np.uint8) for n in lengths))


FORGETFUL, REMEMBERING = 1.0, 40.0  # biases of the forget gate
STRETCH = 6 * CHUNK


@pytest.mark.thorough(keep=3)
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("forget_bias", [REMEMBERING, FORGETFUL])
@pytest.mark.parametrize(
    "lengths",
    [
        (3 * STRETCH + 7,),
        (5, 2 * STRETCH, 1, STRETCH - 2),
        tuple([CHUNK + 1] * 9),
        (1,),
    ],
    ids=str,
)
def test_stretches_add_up_to_the_stream(
    lengths: tuple[int, ...], forget_bias: float, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "_STRETCH", STRETCH)
    model, part, watched = network(forget_bias).to(device), part_of(*lengths), list[int]()
    whole, expected = Scored(model, part, START), np.zeros(len(part), np.float32)
    for chunk in scoring.chunks(whole, scoring.streaming(part)):
        places, nats = chunk.counted_nats()
        expected[places] = nats
    found = [*stretches(Scored(model, part, START, watched.append))]
    sizes = [len(nats) for _, nats in found]
    assert [begin for begin, _ in found] == [0, *np.cumsum(sizes[:-1])]
    assert max(sizes) < STRETCH + 4 * CHUNK
    assert np.abs(np.concatenate([nats for _, nats in found]) - expected).max() < 1e-4
    assert watched == sorted(watched)
    assert watched[-1] == len(part)
    score = streaming.evaluate(whole)
    assert score.symbols == len(part)
    assert score.loss == pytest.approx(expected.mean(dtype=float), abs=1e-6)
