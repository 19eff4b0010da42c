"""What is found in files while they become symbols, and what the user is told about it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from seqkit.config import DataConfig
from seqkit.data.codecs import Codec, Quantiser, TextCodec
from seqkit.data.files import first_of
from seqkit.data.text_reading import encoding_with_mark
from seqkit.foundation.wording import counted

_NAMED = 5  # characters in a line
_SEVERAL = 10  # lines, below which a text that ends its own in LF may well have some in CR and LF


@dataclass
class Findings:
    """Of any files, which go by their names; those of several files are merged.

    unreadable: the files that were left out because they cannot be read, and why.
    left_out: the recordings that hold nothing to learn from, by the reason.
    converted: how many recordings were brought to another form.
    clipped: samples beyond full scale.
    signal, noise: the sums of squares of all samples, and of the errors of quantising.
    skipped: characters outside the vocabulary that were left out.
    unknown: how often each of them, or of those that were replaced, occurs. It is empty where a
        codec of one's own does not tell.
    marked: files that begin with a byte order mark.
    one_line: files whose lines end in CR alone.
    of_windows: files many of whose lines end in CR and LF.
    mixed: whether others of their lines end in LF alone.
    """

    unreadable: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, list[str]] = field(default_factory=dict)
    converted: Counter[str] = field(default_factory=Counter)
    clipped: int = 0
    signal: float = 0.0
    noise: float = 0.0
    skipped: int = 0
    unknown: Counter[str] = field(default_factory=Counter)
    marked: list[str] = field(default_factory=list)
    one_line: list[str] = field(default_factory=list)
    of_windows: list[str] = field(default_factory=list)
    mixed: bool = False

    def merge(self, other: "Findings") -> None:
        """Take in what was found in files that follow, or in more bytes of the last one."""
        self.unreadable |= other.unreadable
        for why, names in other.left_out.items():
            self.left_out.setdefault(why, []).extend(names)
        self.converted += other.converted
        self.clipped += other.clipped
        self.signal += other.signal
        self.noise += other.noise
        self.skipped += other.skipped
        self.unknown += other.unknown
        self.marked += other.marked
        self.one_line += [name for name in other.one_line if name not in self.one_line[-1:]]
        self.of_windows += [name for name in other.of_windows if name not in self.of_windows[-1:]]
        self.mixed |= other.mixed

    def as_json(self) -> dict[str, Any]:
        """JSON values, from which `from_json` makes them again."""
        counters = {"converted": dict(self.converted), "unknown": dict(self.unknown)}
        return {**vars(self), **counters}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Self:
        """Raises KeyError or TypeError for other values."""
        counters = {key: Counter(values[key]) for key in ("converted", "unknown")}
        return cls(**{**values, **counters})

    @property
    def snr(self) -> float | None:
        """The signal to noise ratio of quantising, in decibels; None without noise."""
        return 10 * math.log10(self.signal / self.noise) if self.noise else None

    @property
    def files_left_out(self) -> int:
        """How many."""
        return len(self.unreadable) + sum(map(len, self.left_out.values()))

    def notes(self, files: Mapping[str, Path], codec: Codec, config: DataConfig) -> list[str]:
        """What the user is told about these files, by their names."""
        if isinstance(codec, Quantiser):
            return [*self._of_sound(files)]
        told = [f"{self._unreadable(files)}"] if self.unreadable else []
        return [*told, *self._of_text(files, codec, config)]

    def _of_sound(self, files: Mapping[str, Path]) -> Iterator[str]:
        total = len(files)
        told = [f"{total - self.files_left_out} of {counted(total, 'file')} of sound read"]
        told += [f"{count} {what}" for what, count in self.converted.items()]
        for why, names in self.left_out.items():
            shown = first_of([files[name] for name in names])
            told.append(f"{len(names)} left out ({why}): {shown}")
        if self.clipped:
            told.append(f"{counted(self.clipped, 'sample')} over 1 clipped")
        if self.unreadable:
            told.append(self._unreadable(files))
        if len(told) > 1:
            yield "; ".join(told)

    def _unreadable(self, files: Mapping[str, Path]) -> str:
        each = [
            f"{files[name]} ({why.removeprefix('cannot be read: ')})"
            for name, why in self.unreadable.items()
        ]
        return f"{len(each)} of {len(files)} files cannot be read: {'; '.join(each)}"

    def _of_text(
        self, files: Mapping[str, Path], codec: TextCodec, config: DataConfig
    ) -> Iterator[str]:
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
                f"a byte order mark is read as a character (in {_shown(self.marked, files)}): "
                f"data.encoding={encoding_with_mark(config.encoding)} leaves it out"
            )
        if self.one_line:
            yield (
                f"the lines end in CR alone, which makes one line of all (in "
                f"{_shown(self.one_line, files)}): data.newline=lf turns CR into LF"
            )
        if self.of_windows:
            lines = "some lines" if self.mixed else "lines"
            yield (
                f"{lines} end in CR and LF, as on Windows, two characters to learn (in "
                f"{_shown(self.of_windows, files)}): data.newline=lf makes LF of them"
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


def _shown(names: list[str], files: Mapping[str, Path]) -> str:
    more = f" and {len(names) - 1} more" if len(names) > 1 else ""
    return f"{files[names[0]]}{more}"
