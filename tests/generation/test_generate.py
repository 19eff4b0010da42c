"""A model continues a prompt: the same text, however it is cut and whatever runs beside it."""

import dataclasses
import itertools
from functools import partial

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import MuLaw
from seqkit.generation import generate
from seqkit.generation.engines.pytorch import TorchEngine, score_by_network
from seqkit.generation.generate import Trained, feed_prompt
from seqkit.generation.sampler import Blocks, Request, Sampling
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Integers
from tests.generation.engines.networks import stepped

CODEC = MuLaw(7, 40)


@pytest.fixture
def model() -> CharRNN:
    config = ModelConfig(num_layers=2, hidden_size=10, vocabulary_size=9)
    return CharRNN(config, torch.Generator().manual_seed(8))


def nothing(streams: int) -> Integers:
    return np.zeros(streams, np.int64)


def text(model: CharRNN, streams: int, length: int, seed: int = 1) -> np.ndarray:
    request = Request(length, streams, sampling=Sampling(seed=seed), engine="torch")
    prompt = np.array([1, 2, 3], np.uint8)
    return np.concatenate([*generate.generate(Trained(model, CODEC), prompt, request, print)]).T


def test_a_stream_is_the_same_alone_and_among_others(model: CharRNN) -> None:
    alone, together = text(model, 1, 40), text(model, 3, 40)
    assert alone[0].tolist() == together[0].tolist()
    assert together[0].tolist() != together[1].tolist()
    assert text(model, 1, 40, seed=2)[0].tolist() != alone[0].tolist()


@pytest.mark.parametrize("by", ["step", "network"])
def test_a_prompt_is_read_as_if_it_were_generated(
    model: CharRNN, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(generate, "_BLOCK", 2)
    step = partial(stepped, TorchEngine(model, 7))
    score = step if by == "step" else partial(score_by_network, model, 7)
    begin, prompt = (model.zero_state(1), 2), np.array([1, 4, 0, 6, 4], np.uint8)
    logits, state = feed_prompt(score, begin, prompt, nothing(1))
    _, begun = feed_prompt(score, begin, prompt[:0], nothing(1))
    symbols = prompt.astype(np.int64)[:, None]
    wanted, after = step(symbols, begun, nothing(1))
    np.testing.assert_allclose(logits, wanted[-1], atol=1e-6)
    torch.testing.assert_close(state.c, after.c)


def test_of_a_long_prompt_the_end_is_read(model: CharRNN, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generate, "REMEMBERED", 4)
    prompt = np.array([6, 5, 0, 1, 2, 3], np.uint8)
    notices: list[str] = []

    def made(given: np.ndarray) -> list[int]:
        request = Request(length=20, engine="torch")
        blocks = generate.generate(Trained(model, CODEC), given, request, notices.append)
        symbols: list[int] = np.concatenate(list(blocks))[:, 0].tolist()
        return symbols

    assert made(prompt) == made(prompt[2:])
    assert notices == ["of the 6 symbols of the prompt the model reads the last 4"]


def test_what_is_drawn_passes_by_and_what_was_drawn_is_told(model: CharRNN) -> None:
    told: list[str] = []
    request = Request(length=50, sampling=Sampling(seed=3), engine="torch")
    trained, prompt = Trained(model, CODEC), np.array([1], np.uint8)

    def first_two(blocks: Blocks) -> Blocks:
        yield from itertools.islice(blocks, 2)

    whole = [*generate.generate(trained, prompt, request, told.append)]
    assert not told
    drawn = dataclasses.replace(request, seed_is_drawn=True)
    ended = [*generate.generate(trained, prompt, drawn, told.append, watch=first_two)]
    assert told == ["seed=3"]
    assert np.array_equal(np.concatenate(ended), np.concatenate(whole[:2]))
