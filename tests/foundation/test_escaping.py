"""Nothing hides in what people are shown."""

import json

import pytest

from seqkit.foundation.escaping import character_name, json_text, visible, visible_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31m\x00\r\x9b\x7f", r"\x1b[31m\x00\r\x9b\x7f"),
        ("a\u202eb\u200b\u200f\ufeff", r"a\u202eb\u200b\u200f\ufeff"),
        ("a\u2028b\u2029\ue000\ud800", r"a\u2028b\u2029\ue000\ud800"),
        ("caf\udce9/ü\x85", r"caf\xe9/ü\x85"),
        ("\u0645\u06cc\u200c\u062e \u200d né שלום", "\u0645\u06cc\u200c\u062e \u200d né שלום"),
        ("\u3000\u00a0é☃\U0001f600", "\u3000\u00a0é☃\U0001f600"),
    ],
)
def test_what_has_no_shape_of_its_own_is_written_out(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible_line(text) == shown.replace("\t", r"\t").replace("\n", r"\n")


def test_characters_have_names() -> None:
    assert [character_name(c) for c in "\x00\t\r\x1f\xa0é\ue000"] == [
        *("NUL", "HT", "CR", "US", "NO-BREAK SPACE", "LATIN SMALL LETTER E WITH ACUTE", "")
    ]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("caf\udce9", r"caf\xe9"),
        ("\ud800 \udc00", r"\ud800 \udc00"),
        ("é☃\U0001f600", "é☃\U0001f600"),
        (r"\ud800 \\udce9", r"\ud800 \\udce9"),  # no surrogates, but backslashes
        ('"\n\x00\udce9', '"\n\x00' + r"\xe9"),
    ],
)
@pytest.mark.parametrize("indent", [None, 2])
def test_json_has_whole_characters(text: str, given: str, indent: int | None) -> None:
    made = json_text({text: [text, 1.5, None]}, indent)
    assert made.isascii()
    assert json.loads(made) == {given: [given, 1.5, None]}
    assert ("\n" in made) == (indent is not None)
