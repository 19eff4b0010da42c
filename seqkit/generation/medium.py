"""Text or sound: the one place that asks which.

A medium knows what the symbols of a codec are to a person: how long a sample is by default, how a
prompt is read, and where the result goes. That of text and bytes is here.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seqkit.data import stdin
from seqkit.data.codecs import Characters, Codec, TextCodec, UnknownSymbolError
from seqkit.data.sound import writer
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.settings import check_type
from seqkit.foundation.stdout import to_bytes
from seqkit.generation.request import Prompt
from seqkit.generation.sound import Sound
from seqkit.symbols import Symbols

_LENGTH = 500  # symbols, by default
_NAMED = 20  # characters that the model never saw


class Text:
    """The medium of a codec of characters or bytes.

    Attributes:
        printed: whether a sample is printed unless it is given a file; else it gets one of its own.
        suffix: of that file.
        header: what stands before the symbols on stdout.
        glimpse: symbols of the short sample at a validation.
    """

    printed = True
    suffix = ".txt"
    header = b""
    glimpse = 160

    def __init__(self, codec: TextCodec, newline: str = "keep") -> None:
        """With newline=lf, all line ends of what is read become LF."""
        self._codec = codec
        self._newline = newline

    def length(self, length: int | None, seconds: float | None) -> int:
        """How many symbols to make. Raises ConfigError for seconds."""
        if seconds is not None:
            raise ConfigError(f"seconds={seconds:g}: this model writes text: give length")
        return length or _LENGTH

    def encode(
        self,
        name: str,
        content: object,
        unknown: str = "error",
        notice: Callable[[str], None] = lambda text: None,
    ) -> Symbols:
        """The symbols (N,) of what was given as `name`: str, or bytes for a model of bytes.

        What was left out, replaced or clipped for it is told.

        Raises:
            ConfigError: something else, or an unknown character with unknown=error.
        """
        check_type(name, content, bytes if self._codec.kind == "bytes" else str)
        assert isinstance(content, str | bytes)
        if not content:
            return np.zeros(0, dtype=np.uint8)
        if self._newline == "lf" and isinstance(content, str):
            content = content.replace("\r\n", "\n").replace("\r", "\n")
        try:
            return self._codec.encode(content)
        except UnknownSymbolError as error:
            fault = f"{name}: {error}: the model never saw it"
            if isinstance(self._codec, Characters) and isinstance(content, str):
                unknowns = self._codec.unknown_in(content)
                others = "".join(one for one in unknowns if one != error.character)[:_NAMED]
                fault += f", nor any of {others!r}" if others else ""
            if unknown == "error":
                hint = ": sample.unknown=skip leaves it out, sample.unknown=nearest replaces it"
                raise ConfigError(fault + hint if name == "prompt" else fault) from error
        assert isinstance(content, str)  # no byte is unknown
        notice(f"{fault}: {'left out' if unknown == 'skip' else 'replaced by the nearest one'}")
        return self._codec.encode(content, unknown)

    def read_prompt(self, prompt: Prompt, notice: Callable[[str], None]) -> Symbols:
        """The symbols (N,) of a prompt, N = 0 without one.

        What was left out, replaced or clipped for it is told.

        Raises:
            ConfigError: an unknown character, with sample.unknown=error; or a recording.
            DataError: the file cannot be read.
        """
        if prompt.audio is not None:
            raise ConfigError("prompt_audio: this model writes text: give prompt or prompt_file")
        content: str | bytes = prompt.text or ""
        if prompt.file is not None:
            content = self._read(prompt.file)
            if not content:
                notice(f"prompt_file={prompt.file} is empty: nothing is continued")
        elif self._codec.kind == "bytes":
            content = to_bytes(prompt.text or "")
        return self.encode("prompt", content, prompt.unknown, notice)

    def _read(self, file: str) -> str | bytes:
        try:
            if file in stdin.STDIN:
                content = b"".join(stdin.blocks())
            elif Path(file).is_char_device():  # /dev/zero has no end
                raise DataError(f"prompt_file={file}: cannot be read: it is no file")
            else:
                content = Path(file).read_bytes()
            return content if self._codec.kind == "bytes" else content.decode("utf-8")
        except OSError as error:
            reason = disk.describe(error)
            raise DataError(f"prompt_file={file}: cannot be read: {reason}") from error
        except UnicodeDecodeError as error:
            raise DataError(
                f"prompt_file={file}: byte {error.start} is not utf-8, in which prompts are read, "
                "whatever data.encoding was: save the prompt as UTF-8"
            ) from error

    def ending(self, text: str) -> Symbols:
        """The symbols (N,), N at least 1, of a text that ends a sample.

        Raises:
            ConfigError: it is empty, or has a character that the model never saw.
        """
        if not text:
            raise ConfigError("until is empty: give the text that ends a sample, or document")
        content = to_bytes(text) if self._codec.kind == "bytes" else text
        return self.encode("until", content)

    def check_files(self, files: list[Path]) -> None:
        """Refuse files of a kind that is not written: of sound. Raises ConfigError."""
        for file in files:
            if file.suffix.lower() in writer.WRITTEN:
                raise ConfigError(
                    f"{file}: this model writes text, no sound: give {file.with_suffix('.txt')}"
                )

    def decode(self, symbols: npt.ArrayLike) -> str | bytes:
        """What symbols (N,) stand for."""
        return self._codec.decode(symbols)

    def decoded(self, pieces: Iterable[npt.ArrayLike]) -> Iterator[str | bytes]:
        """What pieces (N,) of one stream stand for; sound may come later, the rest at the end."""
        return map(self.decode, pieces)

    def rendered(self, pieces: Iterable[npt.ArrayLike]) -> Iterator[str | bytes]:
        """What goes to stdout of pieces (N,) of one stream, as `decoded` hands it on."""
        return self.decoded(pieces)

    @contextmanager
    def open(self, file: Path, overwrite: bool) -> Iterator[Callable[[npt.ArrayLike], None]]:
        """A new file, and what writes symbols (N,) to it; raises OutputError.

        The file is whole or absent.
        """
        with disk.atomic_write(file, overwrite) as stream:

            def write(symbols: npt.ArrayLike) -> None:
                stream.write(to_bytes(self.decode(symbols)))

            yield write

    def speed(self, rate: float, streams: int) -> str:
        """In words, how fast so many symbols a second of each stream are."""
        return f"{rate * streams:,.0f} symbols/s"

    def preview(self, symbols: npt.ArrayLike, file: Path) -> str:
        """What stderr shows of a sample (N,) that was saved."""
        return to_bytes(self.decode(symbols)).decode("utf-8", "replace").strip("\n")


Medium = Text | Sound
"""What both do is explained at `Text`."""


def medium_of(codec: Codec, newline: str = "keep", loop: bool = False) -> Medium:
    """The medium of a codec.

    It reads the line ends of text as `data.newline` says; `loop`: sound that is played round and
    round.
    """
    if codec.kind == "audio":
        return Sound(codec, loop)
    return Text(codec, newline)


def save_sample(medium: Medium, symbols: npt.ArrayLike, stem: Path) -> Path:
    """Write a whole sample (N,) to `stem` with its suffix added. Raises OutputError."""
    file = stem.with_name(f"{stem.name}{medium.suffix}")
    with medium.open(file, overwrite=True) as write:
        write(symbols)
    return file
