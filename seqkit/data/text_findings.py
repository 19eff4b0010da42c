"""What is found in texts while they are encoded, and what the user is told about it."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqkit.config import DataConfig
from seqkit.data.codecs import TextCodec
from seqkit.data.text_reading import encoding_with_mark
from seqkit.foundation.wording import counted

_NAMED = 5  # characters in a line
_SEVERAL = 10  # lines, below which a text that ends its own in LF may well have some in CR and LF


@dataclass
class TextFindings:
    """Of all files that were read.

    skipped: how many characters outside the vocabulary were left out.
    unknown: how often each of them, or of those that were replaced, occurs. It is empty where a
        codec of one's own does not tell.
    marked: files that begin with a byte order mark.
    one_line: files whose lines end in CR alone.
    of_windows: files many of whose lines end in CR and LF.
    mixed: whether others of their lines end in LF alone.
    """

    config: DataConfig
    skipped: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    marked: list[Path] = field(default_factory=list)
    one_line: list[Path] = field(default_factory=list)
    of_windows: list[Path] = field(default_factory=list)
    mixed: bool = False

    def as_json(self) -> dict[str, Any]:
        """JSON values, which `include` takes in elsewhere."""
        return {
            "skipped": self.skipped,
            "unknown": dict(self.unknown),
            "marked": [*map(str, self.marked)],
            "one_line": [*map(str, self.one_line)],
            "of_windows": [*map(str, self.of_windows)],
            "mixed": self.mixed,
        }

    def include(self, findings: Mapping[str, Any]) -> None:
        """Take in what was found in the files that follow, or in more bytes of the last one."""
        self.skipped += findings["skipped"]
        self.unknown.update(findings.get("unknown", {}))  # not in older journals, as others below
        self.mixed |= findings.get("mixed", False)
        lists = {
            "marked": self.marked,
            "one_line": self.one_line,
            "of_windows": self.of_windows,
        }
        for name, own in lists.items():
            for file in map(Path, findings.get(name, [])):
                if own[-1:] != [file]:
                    own.append(file)

    def add_line_ends(self, file: Path, ends: "LineEnds") -> None:
        """Take in what ends the lines of one file."""
        if ends.one_line:
            self.one_line.append(file)
        elif ends.of_windows and not (self.skipped and self.unknown["\r"]):  # else they are gone
            self.of_windows.append(file)
            self.mixed |= ends.returns < ends.newlines

    def notes(self, codec: TextCodec) -> Iterator[str]:
        """What the user is told about texts that this codec encoded."""
        if self.skipped:
            told = f"{counted(self.skipped, 'character')} outside the vocabulary left out"
            yield f"{told}: {self._unknown()}" if self.unknown else told
        elif self.unknown:
            yield (
                f"{counted(self.unknown.total(), 'character')} outside the vocabulary replaced by "
                f"the nearest: {self._unknown(codec)}"
            )
        if self.marked:
            yield (
                f"a byte order mark is read as a character (in {_shown(self.marked)}): "
                f"data.encoding={encoding_with_mark(self.config.encoding)} leaves it out"
            )
        if self.one_line:
            yield (
                f"the lines end in CR alone, which makes one line of all (in "
                f"{_shown(self.one_line)}): data.newline=lf turns CR into LF"
            )
        if self.of_windows:
            lines = "some lines" if self.mixed else "lines"
            yield (
                f"{lines} end in CR and LF, as on Windows, two characters to learn (in "
                f"{_shown(self.of_windows)}): data.newline=lf makes LF of them"
            )

    def _unknown(self, nearest: TextCodec | None = None) -> str:
        """The most frequent characters outside the vocabulary, and what a codec took instead."""
        told = []
        for character, count in self.unknown.most_common(_NAMED):
            by = f" by {nearest.decode(nearest.encode(character, 'nearest'))!r}" if nearest else ""
            told.append(f"{character!r}{by} ({count})")
        others = len(self.unknown) - len(told)
        more = f" and {counted(others, 'other', 'others')}" if others else ""
        return ", ".join(told) + more


@dataclass
class LineEnds:
    """What ends the lines of a text that is looked at piece by piece.

    pairs: how often LF follows CR.
    """

    returns: int = 0
    newlines: int = 0
    pairs: int = 0
    _parted: bool = False

    def look_at(self, piece: str) -> None:
        """Count the line ends of one more piece."""
        self.pairs += self._parted and piece.startswith("\n")
        if "\r" in piece:  # found many times faster than counted
            self.returns += piece.count("\r")
            self.pairs += piece.count("\r\n")
        self.newlines += piece.count("\n")
        self._parted = piece.endswith("\r")

    @property
    def one_line(self) -> bool:
        """Whether CR alone ends the lines."""
        return self.returns > 1 and not self.newlines

    @property
    def of_windows(self) -> bool:
        """Whether many lines end in CR and LF: half of them, or 10 and one in a hundred."""
        most = bool(self.newlines) and self.returns > self.newlines // 2
        return most or self.pairs >= max(_SEVERAL, self.newlines / 100)


def _shown(files: list[Path]) -> str:
    return str(files[0]) + (f" and {len(files) - 1} more" if len(files) > 1 else "")
