"""What is found in files while they become symbols, and what the user is told about it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from seqkit.data.codecs import Codec, Quantiser, TextCodec
from seqkit.foundation.wording import counted, first_of

_NAMED = 5  # characters in a line


@dataclass
class Findings:
    """Of any files, which go by their names; those of several files are merged.

    unreadable: the files that were left out because they cannot be read, and why.
    left_out: the recordings that hold nothing to learn from, and why.
    converted: how many recordings were brought to another form.
    clipped: samples beyond full scale.
    signal, noise: the sums of squares of all samples, and of the errors of quantising.
    empty: documents in files that were left out because nothing is in them.
    skipped: characters outside the vocabulary that were left out.
    unknown: how often each of them, or of those that were replaced, occurs. A codec of
        one's own does not tell.
    """

    unreadable: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)
    converted: Counter[str] = field(default_factory=Counter)
    clipped: int = 0
    signal: float = 0.0
    noise: float = 0.0
    empty: int = 0
    skipped: int = 0
    unknown: Counter[str] = field(default_factory=Counter)

    def merge(self, other: "Findings") -> None:
        """Take in what was found in files that follow, or in more bytes of the last one."""
        for name, found in vars(other).items():
            own = getattr(self, name)
            setattr(self, name, own | found if type(found) is dict else own + found)

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
        return len(self.unreadable) + len(self.left_out)

    def notes(self, files: Mapping[str, Path], codec: Codec) -> list[str]:
        """What the user is told about these files, by their names."""
        if isinstance(codec, Quantiser):
            parts = [*self._of_sound(files), *self._unreadable(files)]
            read = f"{len(files) - self.files_left_out} of {counted(len(files), 'file')}"
            return ["; ".join([f"{read} of sound read", *parts])] if parts else []
        return [*self._unreadable(files), *self._of_text(codec)]

    def _unreadable(self, files: Mapping[str, Path]) -> Iterator[str]:
        if self.unreadable:
            each = [
                f"{files[name]} ({why.removeprefix('cannot be read: ')})"
                for name, why in self.unreadable.items()
            ]
            yield f"{len(each)} of {len(files)} files cannot be read: {'; '.join(each)}"

    def _of_sound(self, files: Mapping[str, Path]) -> Iterator[str]:
        for what, count in self.converted.items():
            yield f"{count} {what}"
        for why in dict.fromkeys(self.left_out.values()):
            those = [files[name] for name, reason in self.left_out.items() if reason == why]
            yield f"{len(those)} left out ({why}): {first_of(those)}"
        if self.clipped:
            yield f"{counted(self.clipped, 'sample')} over 1 clipped"

    def _of_text(self, codec: TextCodec) -> Iterator[str]:
        if self.empty:
            yield f"{counted(self.empty, 'empty document')} left out"
        if self.skipped:
            skipped = f"{counted(self.skipped, 'character')} outside the vocabulary left out"
            yield f"{skipped}: {self._unknown()}"
        elif self.unknown:
            yield (
                f"{counted(self.unknown.total(), 'character')} outside the vocabulary replaced by "
                f"the nearest: {self._unknown(codec)}"
            )

    def _unknown(self, nearest: TextCodec | None = None) -> str:
        """The most frequent characters outside the vocabulary, and what a codec took instead."""
        shown = []
        for character, count in self.unknown.most_common(_NAMED):
            by = f" by {nearest.decode(nearest.encode(character, 'nearest'))!r}" if nearest else ""
            shown.append(f"{character!r}{by} ({count})")
        others = len(self.unknown) - len(shown)
        more = f" and {counted(others, 'other', 'others')}" if others else ""
        return ", ".join(shown) + more
