"""Generated text and bytes: prompts, files, stdout."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seqkit.data import pipes
from seqkit.data.codecs import TextCodec, UnknownSymbolError
from seqkit.data.sound import writer
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.settings import check_type
from seqkit.foundation.stdout import to_bytes
from seqkit.generation.request import Prompt
from seqkit.symbols import Symbols

_LENGTH = 500  # symbols, by default
_NAMED = 10  # characters in a message


class Text:
    """See Medium."""

    printed = True
    suffix = ".txt"
    header = b""
    glimpse = 160

    def __init__(self, codec: TextCodec, newline: str = "keep") -> None:
        """With newline=lf, all line ends of what is read become LF."""
        self._codec = codec
        self._newline = newline

    def length(self, length: int | None, seconds: float | None) -> int:
        """See Medium. Raises ConfigError for seconds."""
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
        """See Medium: str, or bytes for a model of bytes."""
        wanted = bytes if self._codec.kind == "bytes" else str
        check_type(name, content, wanted)
        assert isinstance(content, str | bytes)
        return self._encode(name, content, unknown, notice)

    def decode(self, symbols: npt.ArrayLike) -> str | bytes:
        """See Medium."""
        return self._codec.decode(symbols)

    def _encode(
        self, name: str, content: str | bytes, unknown: str, notice: Callable[[str], None]
    ) -> Symbols:
        if not content:
            return np.zeros(0, dtype=np.uint8)
        if self._newline == "lf" and isinstance(content, str):
            content = content.replace("\r\n", "\n").replace("\r", "\n")
        try:
            return self._codec.encode(content)
        except UnknownSymbolError as error:
            if unknown == "error":
                hint = "; see sample.unknown=skip or sample.unknown=nearest"
                told = f"{name}: {error}: the model never saw it"
                raise ConfigError(told + hint if name == "prompt" else told) from error
        assert isinstance(content, str)  # no byte is unknown
        done = "left out" if unknown == "skip" else "replaced by the nearest one"
        notice(f"{name}: the model never saw {self._unknown_in(content)}: {done}")
        return self._codec.encode(content, unknown)

    def _unknown_in(self, content: str) -> str:
        """Which characters have no symbol, and how often each occurs."""
        found = []
        for character, count in Counter(content).most_common():
            try:
                self._codec.encode(character)
            except UnknownSymbolError:
                found.append(f"{character!r} ({count})")
        more = f" and {len(found) - _NAMED} others" if len(found) > _NAMED else ""
        return f"{', '.join(found[:_NAMED])}{more}"

    def read_prompt(self, prompt: Prompt, notice: Callable[[str], None]) -> Symbols:
        """See Medium.

        Raises:
            ConfigError: an unknown character, with unknown=error; or a recording.
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
        return self._encode("prompt", content, prompt.unknown, notice)

    def _read(self, path: Path) -> str | bytes:
        try:
            if pipes.is_pipe(str(path)):
                content = b"".join(pipes.blocks(str(path)))
            elif path.is_char_device():
                raise DataError(f"prompt_file={path}: a device, whose content may have no end")
            else:
                content = path.read_bytes()
            return content if self._codec.kind == "bytes" else content.decode("utf-8")
        except OSError as error:
            reason = disk.describe(error)
            raise DataError(f"prompt_file={path}: cannot be read: {reason}") from error
        except UnicodeDecodeError as error:
            raise DataError(
                f"prompt_file={path}: byte {error.start} is not utf-8, in which prompts are read, "
                "whatever data.encoding was: save the prompt as UTF-8"
            ) from error

    def check_files(self, files: list[Path]) -> None:
        """See Medium. Raises ConfigError for a name that is one of sound."""
        for file in files:
            if file.suffix.lower() in writer.WRITTEN:
                raise ConfigError(
                    f"{file}: this model writes text, no sound: give {file.with_suffix('.txt')}"
                )

    def least_size(self, file: Path, symbols: int) -> int:
        """See Medium. A byte for each symbol."""
        return symbols

    def check_stream(self, streams: int, terminal: bool) -> None:
        """See Medium. Several streams are printed one below the other."""

    def decoder(self) -> Callable[[npt.ArrayLike], str | bytes]:
        """See Medium."""
        return self.decode

    def renderer(self) -> Callable[[npt.ArrayLike], str | bytes]:
        """See Medium."""
        return self.decode

    @contextmanager
    def open(self, file: Path, overwrite: bool) -> Iterator[Callable[[npt.ArrayLike], None]]:
        """See Medium. The file is whole or absent."""
        with disk.atomic_write(file, overwrite) as stream:

            def write(symbols: npt.ArrayLike) -> None:
                stream.write(to_bytes(self.decode(symbols)))

            yield write

    def speed(self, rate: float, streams: int) -> str:
        """See Medium."""
        return f"{rate * streams:,.0f} symbols/s"

    def preview(self, symbols: npt.ArrayLike, file: Path) -> str:
        """See Medium."""
        return to_bytes(self.decode(symbols)).decode("utf-8", "replace").strip("\n")
