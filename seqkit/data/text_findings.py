"""What is found in texts while they are encoded, and what the user is told about it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqkit.data.text_reading import encoding_with_mark
from seqkit.progress_line import counted


@dataclass
class TextFindings:
    """Of all files that were read.

    skipped: characters outside the vocabulary that were left out.
    marked: files that begin with a byte order mark.
    one_line: files whose lines end in CR alone.
    of_windows: files most of whose lines end in CR and LF.
    """

    skipped: int = 0
    marked: list[Path] = field(default_factory=list)
    one_line: list[Path] = field(default_factory=list)
    of_windows: list[Path] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """JSON values, which `include` takes in elsewhere."""
        return {
            "skipped": self.skipped,
            "marked": [*map(str, self.marked)],
            "one_line": [*map(str, self.one_line)],
        }

    def include(self, findings: Mapping[str, Any]) -> None:
        """Take in what was found in other files, or in other bytes of the same ones."""
        self.skipped += findings["skipped"]
        for own, found in ((self.marked, "marked"), (self.one_line, "one_line")):
            own.extend(file for file in map(Path, findings[found]) if file not in own)

    def add_line_ends(self, file: Path, ends: "LineEnds") -> None:
        """Take in what ends the lines of one file."""
        if ends.one_line:
            self.one_line.append(file)
        elif ends.of_windows:
            self.of_windows.append(file)

    def notes(self, encoding: str) -> Iterator[str]:
        """What the user is told about texts in this encoding."""
        if self.skipped:
            yield f"{counted(self.skipped, 'character')} outside the vocabulary left out"
        if self.marked:
            yield (
                f"a byte order mark is read as a character (in {_shown(self.marked)}): "
                f"data.encoding={encoding_with_mark(encoding)} leaves it out"
            )
        if self.one_line:
            yield (
                f"the lines end in CR alone, which makes one line of all (in "
                f"{_shown(self.one_line)}): data.newline=lf turns CR into LF"
            )
        if self.of_windows:
            yield (
                f"lines end in CR and LF, as on Windows, two characters to learn (in "
                f"{_shown(self.of_windows)}): data.newline=lf makes LF of them"
            )


@dataclass
class LineEnds:
    """What ends the lines of a text that is looked at piece by piece."""

    returns: int = 0
    newlines: int = 0

    def look_at(self, piece: str) -> None:
        """Count the line ends of one more piece."""
        if "\r" in piece:  # found many times faster than counted
            self.returns += piece.count("\r")
        self.newlines += piece.count("\n")

    @property
    def one_line(self) -> bool:
        """Whether CR alone ends the lines."""
        return self.returns > 1 and not self.newlines

    @property
    def of_windows(self) -> bool:
        """Whether most lines end in CR and LF; the end of a piece may part the two."""
        return bool(self.newlines) and self.returns > self.newlines // 2


def _shown(files: list[Path]) -> str:
    return str(files[0]) + (f" and {len(files) - 1} more" if len(files) > 1 else "")
