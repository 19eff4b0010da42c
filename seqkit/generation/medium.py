"""Text or sound: the one place that asks which.

A medium knows what symbols are to a person: how long a sample is, how a prompt is read, and where
the result goes.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import numpy.typing as npt

from seqkit.data import files
from seqkit.data.codecs import (
    Characters,
    Codec,
    SoundCodec,
    Spectral,
    TextCodec,
    UnknownSymbolError,
)
from seqkit.data.sound import Frames, Wave, reader, writer
from seqkit.data.sound.encoder import SILENT
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.settings import check_type
from seqkit.foundation.stdout import to_bytes
from seqkit.generation.sampler import Prompt
from seqkit.symbols import Symbols

_LENGTH, _SECONDS = 500, 5.0  # symbols of text and seconds of sound, by default
_SHOWN = 60  # characters of a prompt of which some are replaced
_NOTHING: Symbols = np.zeros(0, np.uint8)
Notice = Callable[[str], object]


class Text:
    """The medium of a codec of characters or bytes.

    Attributes:
        printed, suffix: whether it is printed; else it gets a file of its own, of that suffix.
        glimpse: symbols of the short sample at a validation.
    """

    printed = True
    suffix = ".txt"
    glimpse = 160

    def __init__(self, codec: TextCodec) -> None:
        self._codec = codec

    def header(self) -> bytes:
        """What stands before the symbols on stdout."""
        return b""

    def length(self, length: int | None, seconds: float | None) -> int:
        """How many symbols to make. Raises ConfigError for seconds."""
        if seconds is not None:
            raise ConfigError(f"seconds={seconds:g}: this model writes text: give length")
        return length or _LENGTH

    def encode(
        self, name: str, content: object, unknown: str = "error", notice: Notice = str
    ) -> Symbols:
        """The symbols (N,) of what was given as `name`: str, or bytes for a model of bytes.

        What was left out or replaced for it is told.

        Raises ConfigError: something else, or an unknown character with unknown=error.
        """
        check_type(name, content, bytes if self._codec.kind == "bytes" else str)
        assert isinstance(content, str | bytes)
        if not content:
            return _NOTHING
        try:
            return self._codec.encode(content)
        except UnknownSymbolError as error:
            fault = f"{name}: {error}: the model never saw it"
            if unknown == "error":
                near = isinstance(self._codec, Characters) and self._codec.near(error.character)
                hint = ": sample.unknown=skip leaves it out"
                hint += f", sample.unknown=nearest replaces it by {near!r}" if near else ""
                hint += r"; of line ends, prompt=$'a\nb' has one" * (error.character == "\\")
                raise ConfigError(fault + hint if name == "prompt" else fault) from error
        symbols = self._codec.encode(content, unknown)
        read = self._codec.decode(symbols)
        notice(f"{fault}: {name} is read as {read[:_SHOWN]!r}{' …' * (len(read) > _SHOWN)}")
        return symbols

    def read_prompt(self, prompt: Prompt, notice: Notice) -> Symbols:
        """The symbols (N,) of a prompt, N = 0 without one; see `encode` for what is told.

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
            if file in files.STDIN:
                content = b"".join(files.stdin_blocks())
            elif Path(file).is_char_device():
                raise OSError(0, "it is no file")  # /dev/zero has no end
            else:
                content = Path(file).read_bytes()
            return content if self._codec.kind == "bytes" else content.decode("utf-8-sig")
        except OSError as error:
            fault = f"cannot be read: {disk.describe(error)}"
        except UnicodeDecodeError as error:
            fault = f"byte {error.start} is not utf-8, in which prompts are read, whatever "
            fault += "data.encoding was: save the prompt as UTF-8"
        raise DataError(f"prompt_file={file}: {fault}")

    def ending(self, text: str) -> Symbols:
        """The symbols (N,), N at least 1, of a text that ends a sample.

        Raises ConfigError: it is empty, or has a character that the model never saw.
        """
        if not text:
            raise ConfigError("until is empty: give the text that ends a sample, or document")
        return self.encode("until", to_bytes(text) if self._codec.kind == "bytes" else text)

    def refusal(self, file: Path) -> str | None:
        """Why a file of such a name is not written; None if it is."""
        if file.suffix.lower() == writer.SUFFIX:
            return f"this model writes text, no sound: give {file.with_suffix('.txt')}"
        return None

    def decode(self, symbols: npt.ArrayLike) -> str | bytes:
        """What symbols (N,) stand for."""
        return self._codec.decode(symbols)

    def decoded(self, pieces: Iterable[npt.ArrayLike]) -> Iterator[str | bytes]:
        """What pieces (N,) of one stream stand for; sound may come later, the rest at the end."""
        return map(self.decode, pieces)

    rendered = decoded
    """What goes to stdout of pieces (N,) of one stream: of sound 16-bit samples."""

    @contextmanager
    def open(self, file: Path, overwrite: bool) -> Iterator[Callable[[npt.ArrayLike], object]]:
        """A new file, and what writes symbols (N,) to it; raises OutputError.

        The file is whole or absent.
        """
        with disk.atomic_write(file, overwrite) as stream:
            yield lambda symbols: stream.write(to_bytes(self.decode(symbols)))

    def speed(self, rate: float, streams: int) -> str:
        """In words, how fast so many symbols a second of each stream are."""
        return f"{rate * streams:,.0f} symbols/s"

    def preview(self, symbols: npt.ArrayLike, file: Path) -> str:
        """What stderr shows of a sample (N,) that was saved."""
        return to_bytes(self.decode(symbols)).decode("utf-8", "replace").strip("\n")


class Sound:
    """The medium of a codec of sound. What its methods do is explained at `Text`."""

    printed = False
    suffix = ".wav"

    def __init__(self, codec: SoundCodec, loop: bool = False) -> None:
        """With `loop` the symbols of a sound come at once, and its end is what is before them."""
        self._codec, self._loop = codec, loop
        self.glimpse = codec.symbols_of(codec.sample_rate)  # a second

    def header(self) -> bytes:
        return writer.header(self._codec.sample_rate, self._codec.channels)

    def length(self, length: int | None, seconds: float | None) -> int:
        """Frames are whole. Raises ConfigError for less than a sample."""
        codec = self._codec
        samples = round((seconds or _SECONDS) * codec.sample_rate)
        if not length and samples < 1:
            fault = f"less than one sample at {codec.sample_rate} Hz"
            raise ConfigError(f"seconds={seconds:g}: {fault}")
        return length or -(-samples // codec.samples_of(codec.phases)) * codec.phases

    def encode(
        self, name: str, content: object, unknown: str = "error", notice: Notice = str
    ) -> Symbols:
        """A wave (N,) of floats at the model's sample rate, full scale being ±1; stereo (N, 2)."""
        codec, wave = self._codec, np.asarray(content)
        shaped = wave.ndim == 1 or (codec.channels > 1 and wave.shape[1:] == (codec.channels,))
        if wave.dtype.kind != "f" or not shaped or not np.isfinite(wave.astype(np.float32)).all():
            shapes = "(N,)" if codec.channels == 1 else f"(N,) or (N, {codec.channels})"
            raise ConfigError(
                f"{name}: expected a wave {shapes} of finite floats, "
                f"got {type(content).__name__} with {wave.dtype} of {wave.shape}"
            )
        return codec.encode(wave.astype(np.float32))

    def read_prompt(self, prompt: Prompt, notice: Notice) -> Symbols:
        """Raises ConfigError for a text, DataError for a recording that cannot be read."""
        if prompt.text is not None or prompt.file is not None:
            raise ConfigError("this model makes sound: give prompt_audio=FILE instead of a text")
        if prompt.audio is None:
            return _NOTHING
        name = f"prompt_audio={prompt.audio}"
        channels = self._codec.channels
        try:
            centred = isinstance(self._codec, Spectral)
            recording = reader.SoundReader(Path(prompt.audio), centred=centred)
            wave = np.concatenate(
                [*recording.resampled(self._codec.sample_rate, channels, prompt.channel)]
            )
        except files.BadFileError as error:  # its hint is for trainings
            raise DataError(f"{name}: {error.reason}: give a recording") from error
        if np.abs(wave).max(initial=0) < SILENT:
            notice(f"{name}: it is silent")
        for said in recording.oddities:
            if prompt.channel == "mix" and reader.CHANNEL.search(said):
                notice(reader.oddity(said, [prompt.audio]))
        return self.encode(name, wave if channels > 1 else wave[:, 0], notice=notice)

    def ending(self, text: str) -> Symbols:
        """Raises ConfigError."""
        raise ConfigError(
            f"until={text!r}: this model makes sound, which no text ends: give seconds, or "
            "until=document for a model that was trained with model.ends=true"
        )

    refusal = staticmethod(writer.refusal)

    def decode(self, symbols: npt.ArrayLike) -> Wave | Frames:
        """A wave (N,), or (N, 2)."""
        return np.concatenate([*self.decoded([symbols])])

    def decoded(self, pieces: Iterable[npt.ArrayLike]) -> Iterator[Wave | Frames]:
        """Waves."""
        mono = self._codec.channels == 1
        return (frames[:, 0] if mono else frames for frames in self._read(pieces))

    def rendered(self, pieces: Iterable[npt.ArrayLike]) -> Iterator[bytes]:
        """16-bit samples."""
        return map(writer.pcm16, self._read(pieces))

    def _reader(self) -> Callable[[npt.ArrayLike, bool], Frames]:
        """What reads the symbols of a sound piece by piece, and is told which is the last one."""
        if not self._loop:
            return self._codec.reader()
        codec, nothing = self._codec, np.zeros((0, self._codec.channels), np.float32)
        assert isinstance(codec, Spectral)
        return lambda symbols, last: nothing if last else codec.round_and_round(symbols)

    def _read(self, pieces: Iterable[npt.ArrayLike]) -> Iterator[Frames]:
        read = self._reader()
        yield from (read(symbols, False) for symbols in pieces)
        yield read(_NOTHING, True)

    @contextmanager
    def open(self, file: Path, overwrite: bool) -> Iterator[Callable[[npt.ArrayLike], object]]:
        """It is whole at every moment. See `writer.create` for failures."""
        codec, read = self._codec, self._reader()
        with writer.create(file, codec.sample_rate, overwrite, codec.channels) as output:
            yield lambda symbols: output.write(read(symbols, False))
            output.write(read(_NOTHING, True))

    def speed(self, rate: float, streams: int) -> str:
        """Also beside the time that the sound lasts."""
        times = rate / self._codec.symbol_rate
        return f"{times * self._codec.sample_rate:,.0f} samples/s, {times:.2f} x real time"

    def preview(self, symbols: npt.ArrayLike, file: Path) -> str:
        """The name of the file."""
        return str(file)


Medium = Text | Sound


def medium_of(codec: Codec, loop: bool = False) -> Medium:
    """The medium of a codec; for `loop` see `Sound`."""
    return Sound(codec, loop) if codec.kind == "audio" else Text(codec)


def save_sample(medium: Medium, symbols: npt.ArrayLike, stem: Path) -> Path:
    """Write a whole sample (N,) to `stem` with its suffix added. Raises OutputError."""
    file = stem.with_name(f"{stem.name}{medium.suffix}")
    with medium.open(file, overwrite=True) as write:
        write(symbols)
    return file
