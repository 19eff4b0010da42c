"""Files that cannot be read: each is an error that names it, or is left out and told."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seqkit.foundation import disk
from seqkit.foundation.errors import DataError

SOUND_HINT = "recipe=my_sound learns from sound, recipe=wav_generation from 20 minutes or more"
TEXT_HINT = "recipe=shakespeare learns from text"


class BadFileError(DataError):
    """A file that is damaged or of no use; `reason` does not repeat the file's name."""

    def __init__(self, file: Path, reason: str, hint: str = "") -> None:
        """`hint` says what to do about it."""
        self.file = file
        self.reason = reason
        self._hint = hint
        super().__init__(f"{file}: {reason}{': ' if hint else ''}{hint}")

    def __reduce__(self) -> tuple[Any, ...]:  # it travels between processes
        return type(self), (self.file, self.reason, self._hint)

    @classmethod
    def of(cls, file: Path, error: OSError) -> "BadFileError":
        """One that the operating system does not let us read."""
        return cls(file, f"cannot be read: {disk.describe(error)}")

    def refusal(self, *, hint: bool) -> DataError:
        """The error that ends the reading, with a hint at how to go on without the file."""
        if not hint:
            return DataError(str(self))
        advice = "data.on_bad_file=skip leaves such files out"
        if "data.encoding=" in self._hint:
            advice += " (data.encoding holds for all files)"
        return DataError(f"{self}; {advice}")


@dataclass
class BadFiles:
    """What `data.on_bad_file` says is done with them.

    skip: leave them out.
    several: there are other files, so that leaving one out is worth a hint.
    errors: those that were left out.
    """

    skip: bool
    several: bool = True
    errors: list[BadFileError] = field(default_factory=list)

    def leave_out(self, error: BadFileError) -> None:
        """Leave a file out. Raises DataError where this is not asked for."""
        if not self.skip:
            raise error.refusal(hint=self.several) from error
        self.errors.append(error)

    def __str__(self) -> str:
        return "; ".join(
            f"{error.file} ({error.reason.removeprefix('cannot be read: ')})"
            for error in self.errors
        )
