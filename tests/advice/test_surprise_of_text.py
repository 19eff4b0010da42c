"""The most surprising places are found, and named as an editor names them."""

import numpy as np
import pytest

from seqkit.advice import surprise_of_text
from seqkit.advice.surprise_of_text import Peaks, position
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Corpus, Part

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
    monkeypatch.setattr(surprise_of_text, "_BLOCK", block)
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
