"""What was found in files is merged, and told once."""

from pathlib import Path

import pytest

from seqkit.config import DataConfig
from seqkit.data.codecs import Characters
from seqkit.data.findings import Findings, LineEnds


def test_line_ends_of_windows_are_told_of_all_parts_of_a_file() -> None:
    whole, files = Findings(), {name: Path("texts", name) for name in ("a", "b")}
    for name in ("a", "a", "b"):
        part = Findings(of_windows=[name], mixed=True)
        whole.merge(Findings.from_json(part.as_json()))
    (told,) = whole.notes(files, Characters.from_text("a"), DataConfig())
    assert told.startswith("some lines end in CR and LF")
    assert "(in texts/a and 1 more)" in told


@pytest.mark.parametrize("size", [1 << 20, 2])
@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a\r\n" * 10 + "a\n" * 990, True),
        ("a\r\n" * 9 + "a\n" * 9, False),
        ("a\r\n" * 10 + "a\n" * 999, False),
        ("a\rb\n" * 20 + "a\n" * 30, False),  # a progress that overwrites its line
    ],
)
def test_some_line_ends_of_windows_are_told_where_there_are_many(
    text: str, told: bool, size: int
) -> None:
    ends = LineEnds()
    for begin in range(0, len(text), size):
        ends.look_at(text[begin : begin + size])
    assert ends.of_windows == told
