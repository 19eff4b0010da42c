"""What is told of a text is true of it, and what was probably meant to be read otherwise."""

from typing import Any

import numpy as np

from seqkit.advice import text
from seqkit.data.codecs import Characters
from seqkit.data.corpus import Part


def facts(content: str) -> dict[str, Any]:
    codec = Characters.from_text(content)
    return text.facts(Part.of(codec.encode(content)), codec)


def test_characters_are_counted_across_blocks() -> None:
    assert facts("ab" * 40_000 + "b")["vocabulary"]["counts"] == {"b": 40_001, "a": 40_000}


def test_odd_characters_are_named_the_most_frequent_first() -> None:
    found = facts(
        "plain text\n\twith\x07 می\u200cروم 👩\u200d🚀 \u200b\u202e\u202e\u00a0\ufffd\ue000 é ☃"
    )
    assert [*found["vocabulary"]["odd"].items()] == [
        ("U+202E RIGHT-TO-LEFT OVERRIDE", 2),
        ("U+0007", 1),
        ("U+00A0 NO-BREAK SPACE", 1),
        ("U+200B ZERO WIDTH SPACE", 1),
        ("U+E000", 1),
        ("U+FFFD REPLACEMENT CHARACTER", 1),
    ]


def faults(content: str) -> str:
    return "\n".join(map(str, text.faults(facts(content), "text")))


def test_every_fault_is_told() -> None:
    rng = np.random.default_rng(0)
    good = "\n".join("".join(rng.choice(list("abcdefgh "), 60)) for _ in range(2000))
    assert faults(good) == ""
    assert "100 line ends have a CR" in faults("a line\r\n" * 100)
    assert "odd character" not in faults("a line\r\n" * 100)
    assert "one symbol" in faults("aaaa")
    assert "the text is short, 600 symbols" in faults(good[:600])
    assert "init_from=shakespeare" in faults(good[:600])
    assert "init_from" not in faults("".join(map(chr, rng.integers(0x410, 0x450, 600))))
    odd = "1 odd character, such as U+0007: take them out"
    assert odd in faults(good + "\x07")
    assert "symbols occur fewer than 10 times" in faults(good + "".join(map(chr, range(300, 400))))


def test_rare_characters_that_make_up_much_of_a_text_are_not_to_be_left_out() -> None:
    rare = "".join(chr(0x4E00 + number) for number in range(300))
    for text_of, advised in (("ab" * 60_000 + rare, {"max_vocabulary", "unknown"}), (rare * 2, {})):
        codec = Characters("".join(sorted(set(text_of))), 0)
        found = text.facts(Part.of(codec.encode(text_of)), codec)
        fault = next(each for each in text.faults(found, "text") if "too few" in each.line)
        assert {*fault.keys} == {*advised}
        assert ("give more of it" in fault.line) == (not advised)
