"""Samples that recite: told in the end, and drawn again where nothing else is wanted."""

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import Bytes, Codec, MuLaw
from seqkit.data.corpus import Part
from seqkit.data.labels import Labels
from seqkit.evaluation.recited import Index, Recital
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.randomness import SEEDS
from seqkit.generation import novel
from seqkit.generation.continuation import continue_prompt, finish
from seqkit.generation.ending import ENDED, Ending, streams_of
from seqkit.generation.engine import Blocks
from seqkit.generation.labelled import choose
from seqkit.generation.request import Request
from seqkit.generation.sampling import Sampling
from seqkit.generation.trained import Trained
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
    index = trained().index
    pieces = np.split(made, [1, 90, 170])
    blocks = novel.told(iter(pieces), index, NOTHING, said.append)
    for piece in pieces:
        assert next(blocks) is piece
        assert not said
    assert next(blocks, None) is None
    assert [one[:2] for one in said] == [(100 / 350, 100)]
    assert np.array_equal(whole(novel.told(iter([made]), index, NOTHING, said.append)), made)
    assert said[1].longest == 100
    assert np.array_equal(whole(novel.told(iter([made]), None, NOTHING, said.append)), made)
    assert len(said) == 2


def test_a_stream_is_drawn_again_from_where_it_recites() -> None:
    made = noise(1, (300, 2))
    made[80:180, 1] = DATA[700:800]
    asked: list[tuple[Symbols, Request]] = []

    def draw(known: Trained, prompt: Symbols, request: Request) -> Blocks:
        asked.append((prompt, request))
        rest = noise(len(asked) + 5, (request.length, 2))
        if len(asked) == 1:
            rest[-60:, 1] = DATA[:60]
        return iter([rest])

    prompt = DATA[:3]
    request = Request(length=300, streams=2, novel=True, sampling=Sampling(seed=7))
    found = whole(novel.redrawn(iter([made]), trained(), prompt, request, draw, notice=print))
    assert found.shape == (300, 2)
    assert np.array_equal(found[:, 0], made[:, 0])
    assert np.array_equal(found[:70, 1], made[:70, 1])
    index = trained().index
    assert index is not None
    assert all(not index.knows(stream, NOTHING).any() for stream in found.T)
    assert len(asked) == 2
    for kept, again in asked:
        assert np.array_equal(kept[:3], prompt)
        assert again.length == 300 - len(kept) + 3
        assert not again.novel
    assert len({again.sampling.seed for _, again in asked} | {7}) == 3
    assert 300 - asked[0][1].length in range(30, 81)


def test_what_recites_for_ever_is_refused_and_so_is_a_model_without_an_index() -> None:
    def draw(known: Trained, prompt: Symbols, request: Request) -> Blocks:
        return iter([DATA[-request.length :, None].astype(np.int64)])

    request = Request(length=100, novel=True)
    blocks = [DATA[:100, None].astype(np.int64)]
    with pytest.raises(
        ConfigError,
        match="200 draws did not do, 1 of 1 stream reciting the training data: give",
    ):
        novel.redrawn(iter(blocks), trained(), NOTHING, request, draw, notice=print)
    bare = Trained(trained().model, Bytes())
    with pytest.raises(ConfigError, match=r"in no run that keeps recited\.safetensors"):
        continue_prompt(bare, NOTHING, request, notice=print)


def test_documents_are_drawn_again_whole_and_end_where_they_end() -> None:
    names = [DATA[n : n + 3] for n in range(0, 30, 3)]
    known = trained(None, *names)
    made = np.full((5, 3), ENDED)
    made[:3, 0], made[:5, 1], made[:2, 2] = names[1], noise(1, (5,)), noise(2, (2,))
    drawn = iter([names[4], np.array([7, 8], np.uint8)])

    def draw(known: Trained, prompt: Symbols, request: Request) -> Blocks:
        assert not len(prompt)
        name = next(drawn)
        rows = np.full((len(name), 3), ENDED)
        rows[:, 0] = name
        return iter([rows])

    request = Request(length=9, streams=3, novel=True, ending=Ending((256,), is_document=True))
    found = streams_of(
        novel.redrawn(iter([made]), known, NOTHING, request, draw, notice=print), Bytes()
    )
    assert [stream.tolist() for stream in found] == [
        [7, 8],
        made[:, 1].tolist(),
        made[:2, 2].tolist(),
    ]
    assert not [*novel.redrawn(iter(()), known, NOTHING, request, draw, notice=print)]


@pytest.mark.parametrize("engine", ["torch", "wasm"])
def test_every_engine_draws_only_what_is_new(engine: str) -> None:
    """The training data is what the model writes by itself."""
    bare = trained()
    request = Request(length=120, streams=2, engine=engine, sampling=Sampling(0.7, seed=1))
    first = whole(continue_prompt(bare, NOTHING, request, notice=print))
    known = trained(None, first[:, 1].astype(np.uint8))
    said: list[str] = []
    tell = said.append
    blocks = continue_prompt(known, NOTHING, request, notice=tell)
    again = whole(finish(known, request, NOTHING, blocks, notice=tell))
    assert np.array_equal(again, first)
    assert said[-1].startswith("50 % of this text")
    request = Request(120, 2, engine=engine, sampling=Sampling(0.7, seed=1), novel=True)
    blocks = continue_prompt(known, NOTHING, request, notice=tell)
    other = whole(finish(known, request, NOTHING, blocks, notice=tell))
    assert other.shape == first.shape
    assert np.array_equal(other[:, 0], first[:, 0])
    assert said[-1].startswith("nothing of this text")


def test_streams_that_keep_the_same_are_drawn_again_together() -> None:
    names = [DATA[n : n + 3] for n in range(0, 30, 3)]
    made = np.stack(names[:4], 1).astype(int)
    new, told, drawn = noise(1, (3, 4)), list[str](), list[Request]()

    def draw(known: Trained, prompt: Symbols, request: Request) -> Blocks:
        drawn.append(request)
        return iter([np.where(np.arange(4) < len(drawn), new, made)])

    request = Request(length=3, streams=4, novel=True)
    known = trained(None, *names)
    found = whole(novel.redrawn(iter([made]), known, NOTHING, request, draw, notice=told.append))
    assert np.array_equal(found, new)
    assert len(drawn) == 4
    assert told == [
        "draw 1 of at most 200: 4 of 4 streams reciting the training data",
        "draw 2 of at most 200: 3 of 4 streams reciting the training data",
        "draw 4 of at most 200: 1 of 4 streams reciting the training data",
    ]


def test_sound_is_refused_in_a_line() -> None:
    sound = Trained(trained().model, MuLaw(256, 8000))
    with pytest.raises(ConfigError, match="this model makes sound, and it is for text"):
        continue_prompt(sound, NOTHING, Request(length=9, novel=True), notice=print)


def test_other_draws_are_of_the_same_labels() -> None:
    labels = Labels({"label": ["a", "b", "c"]}, {(1,): 1, (2,): 1, (3,): 1})
    request = Request(length=1, sampling=Sampling(seed=5))
    words = {
        tuple(choose(labels, None, 20, seed).words)
        for seed in (5, *(request.again(draws, 1).sampling.seed for draws in range(1, 9)))
    }
    assert len(words) == 1
    assert tuple(choose(labels, None, 20, 6).words) not in words
    assert request.again(3, 1).sampling.seed == 5 + 3 * SEEDS
    last = Request(length=1, sampling=Sampling(seed=(1 << 63) - 1)).again(1, 1)
    assert last.sampling.seed < 1 << 63
