"""Text or sound: the one place that asks which.

A medium knows what the symbols of a codec are to a person: how long a sample is by default, how a
prompt is read, and where the result goes.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

from seqkit.data.codecs import Codec
from seqkit.generation.request import Prompt
from seqkit.generation.sound import Sound
from seqkit.generation.text import Text
from seqkit.symbols import Symbols


class Medium(Protocol):
    """What `Text` and `Sound` do, each for one codec."""

    printed: bool
    """Whether a sample is printed unless it is given a file; else it gets one of its own."""
    suffix: str
    """Of that file."""
    header: bytes
    """What stands before the symbols on stdout."""
    glimpse: int
    """Symbols of the short sample at a validation."""

    def length(self, length: int | None, seconds: float | None) -> int:
        """How many symbols to make. Raises ConfigError."""
        ...

    def encode(
        self,
        name: str,
        content: object,
        unknown: str = "error",
        notice: Callable[[str], None] = lambda text: None,
    ) -> Symbols:
        """The symbols (N,) of what a call from Python was given as `name`. Raises ConfigError.

        What was left out, replaced or clipped for it is told.
        """
        ...

    def decode(self, symbols: npt.ArrayLike) -> Any:
        """What symbols (N,) stand for: str, bytes, or a wave, float32 (N,) or (N, 2) in stereo."""
        ...

    def read_prompt(self, prompt: Prompt, notice: Callable[[str], None]) -> Symbols:
        """The symbols (N,) of a prompt, N = 0 without one. Raises ConfigError, DataError.

        What was left out, replaced or clipped for it is told.
        """
        ...

    def check_files(self, files: list[Path]) -> None:
        """Refuse files of a kind that is not written. Raises ConfigError."""
        ...

    def least_size(self, file: Path, symbols: int) -> int:
        """How many bytes a file of so many symbols has at least."""
        ...

    def check_stream(self, streams: int, terminal: bool) -> None:
        """Refuse a stdout that cannot take the streams. Raises ConfigError."""
        ...

    def decoder(self) -> Callable[[npt.ArrayLike], Any]:
        """What decodes the symbols (N,) of one stream piece by piece."""
        ...

    def renderer(self) -> Callable[[npt.ArrayLike], str | bytes]:
        """What makes of the symbols (N,) of one stream, piece by piece, what goes to stdout."""
        ...

    def open(
        self, file: Path, overwrite: bool
    ) -> AbstractContextManager[Callable[[npt.ArrayLike], None]]:
        """A new file, and what writes symbols (N,) to it block by block. Raises OutputError."""
        ...

    def speed(self, rate: float, streams: int) -> str:
        """In words, how fast so many symbols a second of each stream are."""
        ...

    def preview(self, symbols: npt.ArrayLike, file: Path) -> str:
        """What stderr shows of a sample (N,) that was saved."""
        ...


def medium_of(codec: Codec, newline: str = "keep", rate: int = 0) -> Medium:
    """The medium of a codec.

    It reads the line ends of text as `data.newline` says, and writes files of sound at `rate`
    hertz, or 0 for the model's own.
    """
    if codec.kind == "audio":
        return Sound(codec, rate)
    return Text(codec, newline)


def save_sample(medium: Medium, symbols: npt.ArrayLike, stem: Path) -> Path:
    """Write a whole sample (N,) to `stem` with its suffix added. Raises OutputError."""
    file = stem.with_name(f"{stem.name}{medium.suffix}")
    with medium.open(file, overwrite=True) as write:
        write(symbols)
    return file
