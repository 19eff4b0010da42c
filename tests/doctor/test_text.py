"""What is told of a text is true of it."""

import numpy as np
import pytest

from seqkit.data.codecs import Characters
from seqkit.data.corpus import Part
from seqkit.doctor import text
from seqkit.doctor.text import TextFacts


def facts(content: str) -> TextFacts:
    codec = Characters.from_text(content)
    return text.facts(Part.of(codec.encode(content)), codec, lambda done: None)


def test_characters_and_lines_are_counted_across_blocks() -> None:
    lines = ["a" * length for length in (0, 5, 40_000, 7, 7)]
    content = "\n".join(lines)
    found = facts(content)
    assert found.counts.tolist() == [4, 40_019]
    assert (found.lines, found.longest_line) == (5, 40_000)


def test_a_text_without_line_ends_is_one_line() -> None:
    found = facts("abc" * 50_000)
    assert (found.lines, found.longest_line) == (1, 150_000)


def test_the_end_of_a_document_ends_a_line() -> None:
    codec = Characters.from_text("ab\n")
    documents = [codec.encode(content) for content in ("ab\na", "bb\n", "a" * 40_000, "b")]
    found = text.facts(Part.of(*documents), codec, lambda done: None)
    assert (found.lines, found.longest_line) == (5, 40_000)


def test_odd_characters_are_named_the_most_frequent_first() -> None:
    found = facts("plain text\n\twith\x07 \u200b\u202e\u202e\u00a0\ufffd\ue000 é ☃")
    odd = {e["code_point"]: (e["kind"], e["count"]) for e in found.odd}
    assert next(iter(odd)) == "U+202E"
    assert odd == {
        "U+202E": ("invisible character", 2),
        "U+0007": ("control character", 1),
        "U+200B": ("invisible character", 1),
        "U+00A0": ("odd space", 1),
        "U+FFFD": ("mark of a character that was lost", 1),
        "U+E000": ("private character", 1),
    }


@pytest.mark.parametrize("copies", [1, 2, 4])
def test_the_share_of_what_came_before(copies: int) -> None:
    once = "".join(np.random.default_rng(0).choice(list("abcdefgh"), 200_000))
    found = facts(once * copies)
    assert found.repeated == pytest.approx(1 - 1 / copies, abs=0.01)
    assert found.sampled == 200_000 * copies
