"""What a terminal is shown."""

import pytest

from seqkit.console import escape


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31m\x00\r\x9b", r"\x1b[31m\x00\r\x9b"),
        ("a\u202eb\u200b\ufeff", r"a\u202eb\u200b\ufeff"),
        ("\u0645\u06cc\u200c\u062e \u200d", "\u0645\u06cc\u200c\u062e \u200d"),
        ("\u3000\u00a0é☃\U0001f600", "\u3000\u00a0é☃\U0001f600"),
    ],
)
def test_control_and_format_characters_are_made_visible(text: str, shown: str) -> None:
    assert escape(text) == shown
