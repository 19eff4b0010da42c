"""Pieces that run side by side give the score of the whole stream."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring, streaming
from seqkit.evaluation.scoring import CHUNK, Scored
from seqkit.model.cells import weights_of
from seqkit.model.char_rnn import CharRNN

V = 5
START = 2


def network(forget_bias: float) -> CharRNN:
    """An LSTM whose cells forget at a rate that this bias of the forget gate sets."""
    model = CharRNN(
        ModelConfig(num_layers=2, hidden_size=6, vocabulary_size=V),
        torch.Generator().manual_seed(1),
    )
    with torch.no_grad():
        for layer in map(weights_of, model.layers):
            layer.b[6:12] = forget_bias  # rows i, f, g, o
            layer.w[6:12] = 0.0
            layer.u[6:12] = 0.0
    return model


def part_of(*lengths: int) -> Part:
    draw = np.random.default_rng(3)
    return Part.of(*(draw.integers(0, V, n).astype(np.uint8) for n in lengths))


def test_documents_are_cut_without_gap_or_overlap() -> None:
    part = part_of(9 * CHUNK + 5, 3, 4 * CHUNK)
    warm, begin, end = streaming.pieces(part).T
    assert begin[0] == 0
    assert end[-1] == len(part)
    assert (begin[1:] == end[:-1]).all()
    assert begin.tolist() == [0, 4 * CHUNK, 8 * CHUNK, 9 * CHUNK + 5, 9 * CHUNK + 8]
    warmed = begin - warm
    assert warmed.tolist() == [0, CHUNK, CHUNK, 0, 0]


def test_many_documents_are_not_cut() -> None:
    part = part_of(*[5 * CHUNK] * 8)
    assert (streaming.pieces(part) == protocols.streaming(part)).all()


@pytest.mark.parametrize(
    ("forget_bias", "again"),
    [
        (1.0, 0),  # forgets within some dozen symbols
        (40.0, 3),  # forgets nothing: sums up from the first symbol to the last
    ],
)
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_the_score_is_that_of_the_whole_stream(
    forget_bias: float, again: int, device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, part = network(forget_bias).to(device), part_of(11 * CHUNK + 7, 5 * CHUNK)
    watched: list[int] = []
    whole = scoring.evaluate(Scored(model, part, START), protocols.streaming(part))
    counted = count_repeats(monkeypatch)
    score = streaming.evaluate(Scored(model, part, START, watched.append))
    assert score.symbols == whole.symbols == len(part)
    assert score.loss == pytest.approx(whole.loss, abs=1e-6)
    assert watched[-1] == len(part)
    assert counted() == again


def count_repeats(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """How many pieces were run again, each from a state that was given."""
    states: list[object] = []
    chunks = scoring.chunks

    def noting(*given: Any, **named: Any) -> Iterator[scoring.Chunk]:
        if named.get("begin_state"):
            states.append(named["begin_state"])
        return chunks(*given, **named)

    monkeypatch.setattr(scoring, "chunks", noting)
    return lambda: len(states)
