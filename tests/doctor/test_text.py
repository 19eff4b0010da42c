"""What is told of a text is true of it."""

import numpy as np
import pytest

from seqkit.data.codecs import Bytes, Characters, Codec
from seqkit.data.corpus import Part
from seqkit.doctor import text, text_faults
from seqkit.doctor.text import TextFacts


def facts(content: str) -> tuple[TextFacts, Characters]:
    codec = Characters.from_text(content)
    return text.facts(Part.of(codec.encode(content)), codec, lambda done: None), codec


def test_characters_and_lines_are_counted_across_blocks() -> None:
    lines = ["a" * length for length in (0, 5, 40_000, 7, 7)]
    content = "\n".join(lines)
    found, codec = facts(content)
    assert dict(zip(codec.vocabulary, found.counts.tolist(), strict=True)) == {
        "\n": 4,
        "a": 40_019,
    }
    assert (found.lines, found.line_median, found.line_longest) == (5, 7, 40_000)


def test_lengths_of_lines_have_no_upper_bound() -> None:
    found, _ = facts(("a" * 5000 + "\n") * 3 + "a" * 9000)
    assert (found.line_median, found.line_95, found.line_longest) == (5000, 9000, 9000)


def test_line_ends_of_windows_are_named() -> None:
    found, codec = facts("a line\r\n" * 100)
    faults = [*map(str, text_faults.of(found, text.odd_characters(found, codec), 800))]
    assert any("100 line ends have a CR" in told and "newline=lf" in told for told in faults)
    assert not any("odd character" in told for told in faults)


def test_a_text_without_line_ends_is_one_line() -> None:
    found, _ = facts("abc" * 50_000)
    assert (found.lines, found.line_longest) == (1, 150_000)


def test_the_end_of_a_document_ends_a_line() -> None:
    codec = Characters.from_text("ab\n")
    documents = [codec.encode(content) for content in ("ab\na", "bb\n", "a" * 40_000, "b")]
    found = text.facts(Part.of(*documents), codec, lambda done: None)
    assert (found.lines, found.line_median, found.line_longest) == (5, 2, 40_000)


def test_odd_characters_are_named_the_most_frequent_first() -> None:
    found, codec = facts("plain text\n\twith\x07 \u200b\u202e\u202e\u00a0\ufffd\ue000 é ☃")
    odd = {e["code_point"]: (e["kind"], e["count"]) for e in text.odd_characters(found, codec)}
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
    found, _ = facts(once * copies)
    assert found.repeated == pytest.approx(1 - 1 / copies, abs=0.01)
    assert found.sampled == 200_000 * copies


def test_pieces_of_a_long_text_lie_evenly_in_it() -> None:
    part = Part.of(np.arange(100_000, dtype=np.uint32))
    pieces = [*text.pieces(part, 1600)]
    assert [len(piece) for piece in pieces] == [100] * 16
    assert (pieces[0][0], pieces[-1][-1]) == (0, 99_999)
    assert len(next(text.pieces(part, 100_000))) == 100_000


def test_symbols_are_named_so_that_they_can_be_read() -> None:
    codec: Codec = Characters.from_text("\na")
    assert [text.name_of(codec, symbol) for symbol in (0, 1)] == ["\\n", "a"]
    assert text.name_of(Bytes(), 10) == "0x0a"


def faults(content: str) -> str:
    found, codec = facts(content)
    return "\n".join(
        map(str, text_faults.of(found, text.odd_characters(found, codec), len(content)))
    )


def test_what_is_no_text_is_not_called_one() -> None:
    content = bytes(range(128)) * 20 + b"\r" * 100
    found = text.facts(Part.of(Bytes().encode(content)), Bytes(), lambda done: None)
    told = "\n".join(map(str, text_faults.of(found, [], len(content), "bytes")))
    assert "the content is short" in told
    assert "copies in the content" in told
    assert "text" not in told
    assert "line" not in told


def test_every_fault_is_told() -> None:
    rng = np.random.default_rng(0)
    good = "\n".join("".join(rng.choice(list("abcdefgh "), 60)) for _ in range(1000))
    assert faults(good) == ""
    assert "one symbol" in faults("aaaa")
    assert "the text is short, 600 symbols" in faults(good[:600])
    assert "50% of the passages" in faults(good + good)
    odd = "1 odd character, 1 in all, such as U+0007 BEL (control character, 1): take them out"
    assert odd in faults(good + "\x07")
    assert "in another encoding than data.encoding" in faults(good + "\x93")
    assert "symbols occur fewer than 10 times" in faults(good + "".join(map(chr, range(300, 400))))
    assert "the longest line" in faults(good.replace("\n", " "))
