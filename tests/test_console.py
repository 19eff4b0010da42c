"""What a terminal is shown."""

import pytest

from seqkit.console import duration, escape


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\tb\nc", "a\tb\nc"),
        ("\x1b[31m\x00\r\x9b", r"\x1b[31m\x00\r\x9b"),
        ("\u3000\u00a0é☃\U0001f600", "\u3000\u00a0é☃\U0001f600"),
    ],
)
def test_control_characters_are_made_visible(text: str, shown: str) -> None:
    assert escape(text) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.2, "0:00"), (62, "1:02"), (3599.6, "1:00:00"), (7325, "2:02:05")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown
