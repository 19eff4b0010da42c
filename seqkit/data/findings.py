"""What is found in files while they become symbols, and what the user is told about it."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from seqkit.data.codecs import Codec, Quantiser
from seqkit.foundation.wording import counted, first_of


@dataclass
class Findings:
    """Of any files, which go by their names; those of several files are merged.

    unreadable: the files that were left out because they cannot be read, and why.
    left_out: the recordings that hold nothing to learn from, and why.
    converted: how many recordings were brought to another form.
    clipped: samples beyond full scale.
    signal, noise: the sums of squares of all samples, and of the errors of quantising.
    empty: documents in files that were left out because nothing is in them.
    skipped, replaced: characters outside the vocabulary that were left out, or replaced. A codec of
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
    replaced: int = 0

    def merge(self, other: "Findings") -> None:
        """Take in what was found in files that follow, or in more bytes of the last one."""
        for name, found in vars(other).items():
            own = getattr(self, name)
            setattr(self, name, own | found if type(found) is dict else own + found)

    @property
    def snr(self) -> float | None:
        """The signal to noise ratio of quantising, in decibels; None without noise."""
        return 10 * math.log10(self.signal / self.noise) if self.noise else None

    def notes(self, files: Mapping[str, Path], codec: Codec) -> list[str]:
        """What the user is told about these files, by their names."""
        if isinstance(codec, Quantiser):
            parts = [*self._of_sound(files), *self._unreadable(files)]
            read = len(files) - len(self.unreadable) - len(self.left_out)
            told = f"{read} of {counted(len(files), 'file')} of sound read"
            return ["; ".join([told, *parts])] if parts else []
        return [*self._unreadable(files), *self._of_text()]

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

    def _of_text(self) -> Iterator[str]:
        if self.empty:
            yield f"{counted(self.empty, 'empty document')} left out"
        for count, what in ((self.skipped, "left out"), (self.replaced, "replaced by the nearest")):
            if count:
                yield f"{counted(count, 'character')} outside the vocabulary {what}"
