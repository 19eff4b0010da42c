"""Lines and columns as an editor counts them, however a part is read."""

import pytest

from seqkit.data.codecs import Bytes, Characters
from seqkit.data.corpus import Corpus, Part
from seqkit.evaluation.lines import Lines, Position

TEXTS = ["one\ntwo\n\nfour", "\n", "x", "long " * 50, "a\r\nb\n"]


@pytest.mark.parametrize("step", [1, 3, 1000])
def test_positions_are_those_of_an_editor(step: int) -> None:
    codec = Characters.from_text("".join(TEXTS))
    part = Part.of(*map(codec.encode, TEXTS))
    lines = Lines(part, list(codec.vocabulary))
    expected = []
    for document, text in enumerate(TEXTS, 1):
        for offset in range(len(text)):
            before = text[:offset]
            column = offset - (before.rfind("\n") + 1) + 1
            expected.append(Position(document, before.count("\n") + 1, column))
    found = []
    for begin in range(0, len(part), step):
        found += [lines.position(p) for p in range(begin, min(begin + step, len(part)))]
        lines.advance(min(begin + step, len(part)))
    assert found == expected


@pytest.mark.parametrize("share", [0.02, 0.06, 0.1, 0.5, 0.97])
def test_positions_in_a_part_are_those_in_the_file(share: float) -> None:
    codec = Characters.from_text("".join(TEXTS))
    whole = Part.of(*map(codec.encode, TEXTS))
    corpus = Corpus(whole, codec, "text", "")
    first, second, _ = corpus.split([share, 1 - share, 0.0])
    everywhere = Lines(whole, list(codec.vocabulary))
    lines = Lines(second, list(codec.vocabulary))
    expected = [everywhere.position(len(first) + place) for place in range(len(second))]
    assert [lines.position(place) for place in range(len(second))] == expected


def test_columns_of_bytes_are_bytes() -> None:
    codec = Bytes()
    part = Part.of(codec.encode("é\né!".encode()))
    lines = Lines(part, [codec.decode([symbol]) for symbol in range(256)])
    assert lines.position(5) == Position(1, 2, 3)
