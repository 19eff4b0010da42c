"""Samples that recite: told in the end, and drawn again where nothing else is wanted."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import Bytes, Codec, MuLaw
from seqkit.data.corpus import Part
from seqkit.evaluation.recited import Index, Recital
from seqkit.foundation.errors import ConfigError
from seqkit.generation import novel
from seqkit.generation.generate import generate
from seqkit.generation.request import Request, Trained
from seqkit.generation.sampler import ENDED, Blocks
from seqkit.generation.sampling import Sampling
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Integers, Symbols

NOTHING: Symbols = np.zeros(0, np.uint8)
DATA = np.random.default_rng(0).integers(0, 250, 2000).astype(np.uint8)


def trained(codec: Codec | None = None, *documents: Symbols) -> Trained:
    codec = codec or Bytes()
    model = CharRNN(
        ModelConfig(hidden_size=8, vocabulary_size=256), torch.Generator().manual_seed(3)
    )
    return Trained(model, codec, index=Index.of(Part.of(*documents or [DATA]), codec))


def whole(blocks: Blocks) -> Integers:
    return np.concatenate([*blocks])


def noise(seed: int, shape: tuple[int, ...]) -> Integers:
    return np.random.default_rng(seed).integers(0, 250, shape)


def test_what_recites_is_told_in_the_end_and_the_blocks_are_as_they_were() -> None:
    made = noise(1, (200, 2))
    made[100:, 1] = DATA[700:800]
    made[150:, 0] = ENDED
    said: list[Recital] = []
    index = Index.of(Part.of(DATA), Bytes())
    pieces = np.split(made, [1, 90, 170])
    blocks = novel.told(iter(pieces), index, NOTHING, said.append)
    for piece in pieces:
        assert next(blocks) is piece
        assert not said
    assert next(blocks, None) is None
    assert [one[:2] for one in said] == [(100 / 350, 100)]
    assert np.array_equal(whole(novel.told(iter([made]), index, NOTHING, said.append)), made)
    assert said[1].longest == 100


def test_what_recites_for_ever_is_refused_and_so_is_a_model_without_an_index() -> None:
    request = Request(length=100, sampling=Sampling(0.0), engine="wasm")
    likeliest = whole(generate(trained(), NOTHING, request, print))
    known, request = trained(None, likeliest[:, 0].astype(np.uint8)), replace(request, novel=True)
    with pytest.raises(
        ConfigError,
        match="200 draws did not do, 1 of 1 stream reciting the training data: give",
    ):
        generate(known, NOTHING, request, print)
    bare = Trained(trained().model, Bytes())
    with pytest.raises(ConfigError, match=r"in no run that keeps recited\.safetensors"):
        generate(bare, NOTHING, request, print)


@pytest.mark.parametrize("engine", ["torch", "wasm"])
def test_every_engine_draws_only_what_is_new(engine: str) -> None:
    """The training data is what the model writes by itself, from somewhere on."""
    request = Request(length=120, streams=2, engine=engine, sampling=Sampling(0.7, seed=1))
    first = whole(generate(trained(), NOTHING, request, print))
    known = trained(None, first[60:, 1].astype(np.uint8))
    said: list[str] = []
    again = whole(generate(known, NOTHING, request, said.append))
    assert np.array_equal(again, first)
    assert said[-1].startswith("25 % of this text")
    other = whole(generate(known, NOTHING, replace(request, novel=True), said.append))
    assert other.shape == first.shape
    assert np.array_equal(other[:, 0], first[:, 0])
    assert np.array_equal(other[:10, 1], first[:10, 1])
    assert not np.array_equal(other[60:, 1], first[60:, 1])
    assert said[-1].startswith("nothing of this text")


def test_sound_is_refused_in_a_line() -> None:
    sound = Trained(trained().model, MuLaw(256, 8000))
    with pytest.raises(ConfigError, match="this model makes sound, and it is for text"):
        generate(sound, NOTHING, Request(length=9, novel=True), print)
