"""Parts: where a corpus is cut, and where documents begin."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from seqkit.data.codecs import Bytes, Characters
from seqkit.data.corpus import Corpus, Part
from seqkit.foundation.errors import ConfigError
from tests.data.test_lanes import part


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        ([0.9, 0.1, 0.0], (90, 11, 0)),
        ([1.0, 0.0, 0.0], (101, 0, 0)),
        ([0.5, 0.0, 0.5], (50, 0, 51)),
        ([0.6, 0.2, 0.2], (60, 20, 21)),
    ],
)
def test_a_corpus_is_split_by_position(split: list[float], sizes: tuple[int, ...]) -> None:
    corpus = Corpus(part(40, 61), Bytes(), "name", "0" * 64)
    parts = corpus.split(split)
    assert tuple(map(len, parts)) == sizes
    assert np.concatenate([p.symbols for p in parts]).tolist() == corpus.whole.symbols[:].tolist()
    for piece in parts:
        assert piece.starts[:1].tolist() == ([0] if len(piece) else [])
    assert parts[0].starts.tolist() == [0, 40]


OWN = Corpus(part(40, 30, 20, 10), Bytes(), "name", "0" * 64)


@pytest.mark.parametrize(
    ("own", "split", "sizes"),
    [
        ({"validation_start": 70, "test_start": 90}, [0.5, 0.3, 0.2], (70, 20, 10)),
        ({"validation_start": 70, "test_start": 90}, [1.0, 0.0, 0.0], (70, 20, 10)),
        ({"test_start": 90}, [0.9, 0.1, 0.0], (81, 9, 10)),
        ({"test_start": 90}, [0.45, 0.05, 0.5], (81, 9, 10)),
        ({"validation_start": 70}, [0.9, 0.1, 0.0], (70, 30, 0)),
        ({"validation_start": 70}, [0.4, 0.5, 0.1], (56, 30, 14)),
        ({"validation_start": 90, "test_start": 90}, [0.9, 0.1, 0.0], (90, 0, 10)),
    ],
)
def test_parts_of_the_data_sets_own_are_kept(
    own: dict[str, int], split: list[float], sizes: tuple[int, ...]
) -> None:
    corpus = replace(OWN, **own)  # type: ignore[arg-type]
    training, validation, test = corpus.split(split)
    assert (len(training), len(validation), len(test)) == sizes
    symbols = corpus.whole.symbols
    assert training.symbols[:].tolist() == symbols[: len(training)].tolist()
    for piece, name in ((validation, "validation_start"), (test, "test_start")):
        if name in own and len(piece):
            assert piece.symbols[:1].tolist() == symbols[own[name] :][:1].tolist()


def test_a_part_is_made_of_documents() -> None:
    part = Part.of(np.array([1, 2], np.uint8), np.array([3], np.uint8), np.array([4, 5], np.uint8))
    assert (part.symbols[:].tolist(), part.starts.tolist()) == ([1, 2, 3, 4, 5], [0, 2, 3])
    assert part.symbols.dtype == np.uint8


@pytest.mark.parametrize(
    "documents",
    [
        *([], ["ab"], [np.zeros(0, np.uint8)], [np.zeros((2, 2), np.uint8)]),
        *([np.zeros(3)], [np.zeros(3, np.int64)], [np.zeros(3, np.uint8), np.zeros(3, np.float32)]),
    ],
)
def test_what_is_no_document_is_refused(documents: list[Any]) -> None:
    with pytest.raises(ConfigError, match="document"):
        Part.of(*documents)


def of_lines(count: int, labels: int = 0) -> Corpus:
    """A sorted list of short documents, of which the rest of a number says the label."""
    rng = np.random.default_rng(5)
    documents = [np.full(rng.integers(1, 9), number, np.uint16) for number in range(count)]
    whole = Part.of(*documents)
    if labels:
        numbers = np.arange(count) * labels // count + 1
        whole = replace(whole, labels=numbers[:, None])
    return Corpus(whole, Characters.fit(["ab"]), "name", "0" * 64, whole_documents=True)


def numbers_in(piece: Part) -> list[int]:
    """The numbers of the documents in a part, each of which has to be whole."""
    return [int(piece.symbols[start]) for start in piece.starts]


@pytest.mark.parametrize("labels", [0, 3])
def test_documents_of_a_sorted_list_are_picked_from_everywhere(labels: int) -> None:
    corpus = of_lines(600, labels)
    parts = corpus.split([0.7, 0.2, 0.1])
    assert sum(map(len, parts)) == len(corpus.whole)
    found = [numbers_in(piece) for piece in parts]
    assert sorted(number for some in found for number in some) == [*range(600)]
    for some, piece, share in zip(found, parts, (0.7, 0.2, 0.1), strict=True):
        assert some == sorted(some)
        assert abs(len(piece) / len(corpus.whole) - share) < 0.01
        for begin in range(0, 600, 200):  # a third of the list, or a label
            inside = sum(begin <= number < begin + 200 for number in some)
            assert abs(inside / len(some) - 1 / 3) < (0.05 if labels else 0.15)
        if labels:
            assert piece.labels is not None
            assert piece.labels[:, 0].tolist() == [number // 200 + 1 for number in some]
    again = corpus.split([0.7, 0.2, 0.1])
    assert [numbers_in(piece) for piece in again] == found


def test_too_few_documents_are_cut_for_a_part() -> None:
    whole = Part.of(*[np.full(50, number, np.uint8) for number in range(3)])
    corpus = Corpus(whole, Characters.fit(["ab"]), "name", "0" * 64, whole_documents=True)
    assert [*map(len, corpus.split([0.9, 0.1, 0.0]))] == [135, 15, 0]
    assert [*map(len, corpus.split([0.6, 0.4, 0.0]))] == [100, 50, 0]
    assert [*map(len, corpus.split([1.0, 0.0, 0.0]))] == [150, 0, 0]


def test_a_part_of_the_data_sets_own_is_not_picked() -> None:
    corpus = of_lines(100)
    own = int(corpus.whole.starts[80])
    parts = replace(corpus, validation_start=own).split([0.8, 0.1, 0.1])
    assert numbers_in(parts[1]) == [*range(80, 100)]
    assert sorted(numbers_in(parts[0]) + numbers_in(parts[2])) == [*range(80)]
