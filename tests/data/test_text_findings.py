"""What was found in texts is taken in from elsewhere."""

from pathlib import Path

import pytest

from seqkit.config import DataConfig
from seqkit.data.codecs import Characters
from seqkit.data.text_findings import LineEnds, TextFindings


def test_line_ends_of_windows_are_told_of_all_parts_of_a_file() -> None:
    whole, ends = TextFindings(DataConfig()), LineEnds()
    ends.look_at("one\r\ntwo\r\nthree\n")
    for file in ("a.txt", "a.txt", "b.txt"):
        part = TextFindings(DataConfig())
        part.add_line_ends(Path(file), ends)
        whole.include(part.as_json())
    (told,) = whole.notes(Characters.from_text("a"))
    assert told.startswith("some lines end in CR and LF")
    assert "(in a.txt and 1 more)" in told


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
    findings, ends = TextFindings(DataConfig()), LineEnds()
    for begin in range(0, len(text), size):
        ends.look_at(text[begin : begin + size])
    findings.add_line_ends(Path("a.txt"), ends)
    notes = [*findings.notes(Characters.from_text("a"))]
    assert [note.startswith("some lines end in CR and LF") for note in notes] == [True] * told


def test_findings_of_the_version_before_have_no_characters() -> None:
    findings = TextFindings(DataConfig())
    findings.include({"skipped": 2, "marked": [], "one_line": []})
    assert findings.skipped == 2
    assert not findings.unknown
