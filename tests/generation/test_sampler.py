"""Symbols are drawn by a rule, one block after the other; each stream ends by itself."""

import math
from collections.abc import Iterator

import numpy as np
import pytest
import torch

from seqkit.generation.sampler import (
    ENDED,
    Drawing,
    Ending,
    Sampling,
    cut,
    draw,
    sample_blocks,
    without_ended,
)
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, uniforms
from tests.generation.engines.networks import probabilities

LOGITS = np.log(np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]))
NONE = State(*torch.zeros(3, 0))
ROWS = np.array([[1, 1, 2], [2, 0, 1], [1, 1, 1], [2, 2, 1], [3, 3, 3], [1, 1, 1], [2, 2, 2]])
"""Three streams in which 1 2 3 ends after 5, after 5 and never; 1 2 after 2, 4 and 7."""


class Counting:
    """An engine whose every symbol is one more than the last."""

    block = 16
    steps = 0
    labels: Integers | None = None

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        self.labels, symbols = drawing.labels, drawing.symbols
        for block in drawing.draws:
            self.steps += len(block)
            drawn = (symbols + 1 + np.arange(len(block))[:, None]) % 5
            symbols = drawn[-1]
            yield drawn

    def score(self, symbols: Integers, state: State, labels: Integers) -> tuple[Floats, State]:
        return np.zeros((*symbols.shape, 5), np.float32), state


def test_any_engine_can_be_sampled() -> None:
    first = np.full((2, 5), -50.0)
    first[0, 3] = first[1, 0] = 50.0
    blocks = list(
        sample_blocks(Counting(), first, NONE, 6, Sampling(seed=3), labels=np.zeros(2, int))
    )
    assert len(blocks[0]) == 1, "the first symbol is there at once"
    produced = np.concatenate(blocks)
    assert produced[:, 0].tolist() == [3, 4, 0, 1, 2, 3]
    assert produced[:, 1].tolist() == [0, 1, 2, 3, 4, 0]


def test_nothing_is_made_before_it_is_asked_for() -> None:
    engine = Counting()
    endless = sample_blocks(
        engine, np.zeros((1, 5)), NONE, 10**12, Sampling(), labels=np.zeros(1, int)
    )
    made = sum(len(next(endless)) for _ in range(12))
    assert made == engine.steps + 1
    assert len(next(endless)) == Counting.block


def test_an_engine_is_told_the_labels_of_its_streams() -> None:
    engine, labels = Counting(), np.array([2, 0])
    list(sample_blocks(engine, np.zeros((2, 5)), NONE, 40, Sampling(), labels=labels))
    assert engine.labels is labels


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize(
    ("ending", "lengths"),
    [
        (Ending((1, 2, 3)), [5, 5, 7]),
        (Ending((1, 2)), [2, 4, 7]),
        (Ending((3,)), [5, 5, 5]),
        (Ending((3,), is_document=True), [4, 4, 4]),
        (Ending((0,), is_document=True), [7, 1, 7]),
        (Ending((9,)), [7, 7, 7]),
    ],
)
def test_each_stream_ends_by_itself(ending: Ending, lengths: list[int], size: int) -> None:
    whole = np.concatenate([*cut(iter(np.split(ROWS, range(size, 7, size))), ending, 3)])
    assert len(whole) == max(lengths)
    for found, made, length in zip(whole.T, ROWS.T, lengths, strict=True):
        assert without_ended(found).tolist() == made[:length].tolist()
        assert (found[length:] == ENDED).all()


@pytest.mark.parametrize(
    ("sampling", "expected"),
    [
        (Sampling(), [0.4, 0.3, 0.2, 0.1]),
        (Sampling(temperature=0.5), [16 / 30, 9 / 30, 4 / 30, 1 / 30]),
        (Sampling(temperature=0), [1, 0, 0, 0]),
        (Sampling(top_k=2), [4 / 7, 3 / 7, 0, 0]),
        (Sampling(top_k=9), [0.4, 0.3, 0.2, 0.1]),
        (Sampling(top_p=0.69), [4 / 7, 3 / 7, 0, 0]),
        (Sampling(top_p=0.71), [4 / 9, 3 / 9, 2 / 9, 0]),
        (Sampling(top_p=1e-9), [1, 0, 0, 0]),
        (Sampling(top_k=3, top_p=0.5), [4 / 7, 3 / 7, 0, 0]),
    ],
)
def test_probabilities(sampling: Sampling, expected: list[float]) -> None:
    first, second = probabilities(LOGITS, sampling)
    assert first.tolist() == pytest.approx(expected)
    assert second.tolist() == pytest.approx(expected[::-1])


def test_extreme_logits_make_no_nan() -> None:
    shares = probabilities(np.array([[1e4, -1e4, 0.0], [-math.inf, 0.0, -math.inf]]), Sampling())
    assert shares.tolist() == [[1, 0, 0], [0, 1, 0]]


@pytest.mark.parametrize(
    "sampling", [Sampling(), Sampling(1.7), Sampling(top_k=3), Sampling(0.9, top_p=0.85)]
)
def test_draws_follow_the_probabilities(sampling: Sampling) -> None:
    count = 1_000_000
    drawn = np.concatenate(
        [
            draw(np.repeat(LOGITS[:1], 50_000, 0), uniforms(9, 0, first, 50_000), sampling)
            for first in range(0, count, 50_000)
        ]
    )
    expected = probabilities(LOGITS[:1], sampling)[0] * count
    observed = np.bincount(drawn, minlength=4)
    possible = expected > 0
    assert not observed[~possible].any()
    chi_square = ((observed - expected)[possible] ** 2 / expected[possible]).sum()
    assert chi_square < 18  # at most 3 degrees of freedom: p = 0.0004


def test_the_ends_of_the_unit_interval_give_possible_symbols() -> None:
    logits = np.log(np.array([[0.0, 0.5, 0.5, 0.0]]) + 1e-300)
    for uniform, symbol in [(0.0, 1), (0.4999, 1), (0.5001, 2), (1 - 2**-53, 2)]:
        assert draw(logits, np.array([uniform]), Sampling(top_k=2)).tolist() == [symbol]
