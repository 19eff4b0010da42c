"""Lines and columns as an editor counts them, however a part is read."""

import numpy as np
import pytest

from seqkit.data.codecs import Bytes, Characters
from seqkit.data.corpus import Corpus, Part
from seqkit.evaluation import positions
from seqkit.evaluation.positions import Position, position

TEXTS = ["one\ntwo\n\nfour", "\n", "x", "long " * 50, "a\r\nb\n"]
CODEC = Characters.from_text("".join(TEXTS))
WHOLE = Part.of(*map(CODEC.encode, TEXTS))
NEWLINES = np.array([character == "\n" for character in CODEC.vocabulary], np.int64)


@pytest.mark.parametrize("block", [1, 3, 1000])
def test_positions_are_those_of_an_editor(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(positions, "_BLOCK", block)
    expected = []
    for document, text in enumerate(TEXTS, 1):
        for offset in range(len(text)):
            before = text[:offset]
            column = offset - (before.rfind("\n") + 1) + 1
            expected.append(Position(document, before.count("\n") + 1, column))
    assert [position(WHOLE, NEWLINES, place) for place in range(len(WHOLE))] == expected


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 0.97])
def test_positions_in_a_part_are_those_in_the_file(share: float) -> None:
    first, second, _ = Corpus(WHOLE, CODEC, "text", "").split([share, 1 - share, 0.0])
    expected = [position(WHOLE, NEWLINES, len(first) + place) for place in range(len(second))]
    assert [position(second, NEWLINES, place) for place in range(len(second))] == expected


def test_columns_of_bytes_are_bytes() -> None:
    newlines = (np.arange(256) == 10).astype(np.int64)
    assert position(Part.of(Bytes().encode("é\né!".encode())), newlines, 5) == Position(1, 2, 3)
