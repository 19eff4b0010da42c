"""What is told stretch by stretch is what the whole stream gives, in the order of the part."""

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Corpus, Part
from seqkit.evaluation import protocols, scoring, surprise
from seqkit.evaluation.scoring import CHUNK, Scored
from seqkit.evaluation.streaming import PIECE
from seqkit.evaluation.surprise import Peaks, position, stretches
from seqkit.model.char_rnn import CharRNN

V, START, STRETCH = 5, 2, 6 * CHUNK


def network(size: int = V, *, ends: bool = False) -> CharRNN:
    config = ModelConfig(num_layers=2, hidden_size=6, vocabulary_size=size, ends=ends)
    return CharRNN(config, torch.Generator().manual_seed(1))


def part_of(*lengths: int) -> Part:
    draw = np.random.default_rng(3)
    return Part.of(*(draw.integers(0, V, n).astype(np.uint8) for n in lengths))


@pytest.fixture
def small_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surprise, "_STRETCH", STRETCH)


@pytest.mark.thorough(keep=2)
@pytest.mark.usefixtures("small_stretches")
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize(
    "lengths",
    [
        (3 * STRETCH + 7,),
        (5, 2 * STRETCH, 1, STRETCH - 2),
        (STRETCH - 3, CHUNK, STRETCH),
        tuple([CHUNK + 1] * 9),
        (1,),
    ],
    ids=str,
)
def test_stretches_add_up_to_the_stream(lengths: tuple[int, ...], device: str) -> None:
    model, part, watched = network().to(device), part_of(*lengths), list[int]()
    expected = np.zeros(len(part), np.float32)
    segments = protocols.streaming(part)
    for chunk in scoring.chunks(Scored(model, part, START), segments):
        places, nats = chunk.counted_nats()
        expected[places] = nats
    found = [*stretches(Scored(model, part, START, watched.append))]
    assert len(found[0].nats) <= surprise._FIRST
    assert [one.begin for one in found] == [0, *(one.end for one in found[:-1])]
    assert max(len(one.nats) for one in found) < STRETCH + PIECE
    assert np.abs(np.concatenate([one.nats for one in found]) - expected).max() < 1e-4
    assert watched == sorted(watched)
    assert watched[-1] == len(part)


def test_what_was_expected_is_what_the_logits_say() -> None:
    model, part = network(V + 1, ends=True), part_of(40, 30)
    (found,) = stretches(Scored(model, part, START), likeliest=3)
    given = np.concatenate([[START], part.symbols[:39], [START], part.symbols[40:69]])
    inputs = torch.from_numpy(given.astype(np.int64))
    for begin, end in ((0, 40), (40, 70)):
        with torch.no_grad():
            logits, _ = model(inputs[begin:end, None], model.zero_state(1))
        chances = logits[:, 0, :V].softmax(-1).sort(-1, descending=True)
        assert (found.likeliest[begin:end] == chances.indices[:, :3].numpy()).all()
        assert np.allclose(found.chances[begin:end], chances.values[:, :3], atol=1e-6)
    part_of_it = found.cut(10, 12)
    assert (part_of_it.begin, part_of_it.end) == (10, 12)
    assert (part_of_it.nats == found.nats[10:12]).all()


TEXTS = ["one\ntwo\n\nfour", "\n", "x", "long " * 50, "a\r\nb\n"]
CODEC = Characters.from_text("".join(TEXTS))
WHOLE = Part.of(*map(CODEC.encode, TEXTS))
NEWLINES = np.array([character == "\n" for character in CODEC.vocabulary], np.int64)


@pytest.mark.parametrize("length", [1, 7, 100, 1000])
def test_the_highest_are_kept_in_order_and_apart(length: int) -> None:
    values = np.random.default_rng(1).permutation(1000).astype(np.float32)
    values[501] = 2000
    values[502] = 1999  # next to the highest
    peaks = Peaks(10)
    for begin in range(0, 1000, length):
        peaks.add(begin, values[begin : begin + length])
    found = peaks.highest
    assert [value for _, value in found] == sorted((value for _, value in found), reverse=True)
    assert found[0][0] == 501
    where = sorted(place for place, _ in found)
    assert len(where) == 20
    assert min(np.diff(where)) >= 10
    assert min(value for _, value in found) > 900


@pytest.mark.parametrize("block", [3, 1000])
def test_positions_are_those_of_an_editor(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surprise, "_BLOCK", block)
    expected = []
    for document, text in enumerate(TEXTS, 1):
        for offset in range(len(text)):
            before = text[:offset]
            column = offset - (before.rfind("\n") + 1) + 1
            expected.append((document, before.count("\n") + 1, column))
    assert [position(WHOLE, NEWLINES, place) for place in range(len(WHOLE))] == expected


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_positions_in_a_part_are_those_in_the_file(share: float) -> None:
    first, second, _ = Corpus(WHOLE, CODEC, "text", "").split([share, 1 - share, 0.0])
    expected = [position(WHOLE, NEWLINES, len(first) + place) for place in range(len(second))]
    assert [position(second, NEWLINES, place) for place in range(len(second))] == expected
