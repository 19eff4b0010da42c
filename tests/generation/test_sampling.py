"""The sampler draws from the distribution that it should, from any step function."""

import math

import numpy as np
import pytest
import torch

from seqkit.config import Config, ModelConfig
from seqkit.generation.engines.pytorch import TorchEngine
from seqkit.generation.sampling import (
    Floats,
    Sampling,
    Stepwise,
    draw,
    generate,
    probabilities,
    read_prompt,
    sampling_of,
)
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import State
from seqkit.randomness import uniforms

LOGITS = np.log(np.array([[0.4, 0.3, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4]]))
NONE = State(torch.zeros(0), torch.zeros(0))


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


def test_any_step_function_can_be_sampled() -> None:
    def step(symbols: np.ndarray, state: State) -> tuple[Floats, State]:
        logits = np.full((len(symbols), 5), -50.0)
        logits[np.arange(len(symbols)), (symbols + 1) % 5] = 50.0
        return logits, state

    first = np.full((2, 5), -50.0)
    first[0, 3] = first[1, 0] = 50.0
    blocks = list(generate(Stepwise(step), first, NONE, 6, Sampling(seed=3)))
    assert len(blocks[0]) == 1, "the first symbol is there at once"
    produced = np.concatenate(blocks)
    assert produced[:, 0].tolist() == [3, 4, 0, 1, 2, 3]
    assert produced[:, 1].tolist() == [0, 1, 2, 3, 4, 0]


def test_nothing_is_made_before_it_is_asked_for() -> None:
    steps = 0

    def step(symbols: np.ndarray, state: State) -> tuple[Floats, State]:
        nonlocal steps
        steps += 1
        return np.zeros((1, 5)), state

    endless = generate(Stepwise(step), np.zeros((1, 5)), NONE, 10**12, Sampling())
    made = sum(len(next(endless)) for _ in range(12))
    assert made == steps + 1
    assert max(len(next(endless)) for _ in range(5)) == 1024


@pytest.fixture
def model() -> CharRNN:
    config = ModelConfig(num_layers=2, hidden_size=10, vocabulary_size=9)
    return CharRNN(config, torch.Generator().manual_seed(8))


def text(model: CharRNN, streams: int, length: int, seed: int = 1) -> np.ndarray:
    logits, state = read_prompt(model, 7, 2, np.array([1, 2, 3], np.uint8), streams)
    engine = TorchEngine(model, 7)
    return np.concatenate(list(generate(engine, logits, state, length, Sampling(seed=seed)))).T


def test_a_stream_is_the_same_alone_and_among_others(model: CharRNN) -> None:
    alone, together = text(model, 1, 40), text(model, 3, 40)
    assert alone[0].tolist() == together[0].tolist()
    assert together[0].tolist() != together[1].tolist()
    assert text(model, 1, 40, seed=2)[0].tolist() != alone[0].tolist()


def test_logits_beyond_the_codec_are_never_drawn(model: CharRNN) -> None:
    assert text(model, 4, 300).max() < 7


def test_a_longer_text_begins_like_a_shorter_one(model: CharRNN) -> None:
    assert text(model, 1, 1500)[0, :1030].tolist() == text(model, 1, 1030)[0].tolist()


def test_a_prompt_is_read_as_if_it_were_generated(model: CharRNN) -> None:
    logits, state = read_prompt(model, 7, 2, np.array([1, 4], np.uint8), 1)
    _, begun = read_prompt(model, 7, 2, np.zeros(0, np.uint8), 1)
    stepped, after = TorchEngine(model, 7).score(np.array([[1], [4]]), begun)
    np.testing.assert_allclose(logits, stepped[-1], atol=1e-6)
    torch.testing.assert_close(state.c, after.c)


def test_a_temperature_next_to_zero_is_zero() -> None:
    assert sampling_of(Config(temperature=1e-320)) == sampling_of(Config(temperature=0.0))
    assert sampling_of(Config(temperature=1e-20)).temperature == 1e-20
