"""The highest values, each away from the others; lines and columns as an editor counts them."""

import numpy as np
import pytest

from seqkit.data.codecs import Characters
from seqkit.data.corpus import Corpus, Part
from seqkit.evaluation import places
from seqkit.evaluation.places import Peaks, Position, position

TEXTS = ["one\ntwo\n\nfour", "\n", "x", "long " * 50, "a\r\nb\n"]
CODEC = Characters.from_text("".join(TEXTS))
WHOLE = Part.of(*map(CODEC.encode, TEXTS))
NEWLINES = np.array([character == "\n" for character in CODEC.vocabulary], np.int64)


@pytest.mark.parametrize("length", [1, 7, 100, 1000])
def test_the_highest_are_kept_in_order_and_apart(length: int) -> None:
    values = np.random.default_rng(1).permutation(1000).astype(np.float32)
    values[501] = 2000
    values[502] = 1999  # next to the highest
    peaks, asked = Peaks[str](5, 10), list[int]()

    def keep(place: int) -> str:
        asked.append(place)
        return f"at {place}"

    for begin in range(0, 1000, length):
        peaks.add(begin, values[begin : begin + length], keep)
    found = peaks.highest
    assert [peak.value for peak in found] == sorted((p.value for p in found), reverse=True)
    assert found[0].place == 501
    where = sorted(peak.place for peak in found)
    assert len(where) == 5
    assert min(np.diff(where)) >= 10
    assert all(peak.kept == f"at {peak.place}" for peak in found)
    assert min(peak.value for peak in found) > 900
    assert len(asked) <= 5 * -(-1000 // length)


def test_values_may_be_means_of_several_places() -> None:
    peaks = Peaks[int](2, 100)
    peaks.add(50, np.array([1.0, 3.0, 2.0]), lambda place: place, spacing=50)
    assert [(peak.place, peak.value) for peak in peaks.highest] == [(100, 3.0)]


@pytest.mark.parametrize("block", [3, 1000])
def test_positions_are_those_of_an_editor(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(places, "_BLOCK", block)
    expected = []
    for document, text in enumerate(TEXTS, 1):
        for offset in range(len(text)):
            before = text[:offset]
            column = offset - (before.rfind("\n") + 1) + 1
            expected.append(Position(document, before.count("\n") + 1, column))
    assert [position(WHOLE, NEWLINES, place) for place in range(len(WHOLE))] == expected


@pytest.mark.parametrize("share", [0.02, 0.5])
def test_positions_in_a_part_are_those_in_the_file(share: float) -> None:
    first, second, _ = Corpus(WHOLE, CODEC, "text", "").split([share, 1 - share, 0.0])
    expected = [position(WHOLE, NEWLINES, len(first) + place) for place in range(len(second))]
    assert [position(second, NEWLINES, place) for place in range(len(second))] == expected
