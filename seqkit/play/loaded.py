"""A model that is served: what it makes, in pieces that take a moment."""

import codecs
import json
import time
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.api.model import Model, ModelState
from seqkit.config import SampleConfig
from seqkit.data.codecs import SoundCodec, Spectral
from seqkit.data.files import BadFileError
from seqkit.data.sound.reader import SoundReader
from seqkit.foundation.device import Device
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.stdout import to_bytes
from seqkit.generation.medium import medium_of
from seqkit.runs.asked import GenerateKeys
from seqkit.runs.checkpoint import Checkpoint
from seqkit.symbols import Integers, Symbols, checked_symbols

_READ = {False: 4_000, True: 16_000}  # symbols of a prompt of text and of sound, the last ones
_MOMENT = 0.02  # seconds
_MOST = 5_000_000  # symbols of a sample
_LONGEST = 120  # seconds of a recording
Pieces = Generator[tuple[bytes, int], None, None]
"""What is sent, and its characters or frames."""


class Loaded:
    """A model, beside its checkpoint. One thread at a time may use it."""

    def __init__(self, saved: Checkpoint, device: Device, sample: SampleConfig) -> None:
        """`sample` has the keys of all that it makes."""
        self.saved, self.codec, self.model = saved, saved.codec, Model[Any](saved, device)
        self.sounds, self._sample = saved.codec.kind == "audio", sample
        self.read = _READ[self.sounds]
        """Characters of a prompt that are read, the last ones, or samples of a sound."""
        if saved.codec.kind == "audio":
            self.read = saved.codec.samples_of(self.read)

    def generated(self, body: bytes, keys: GenerateKeys, lines: bool, nats: bool) -> Pieces:
        """What follows a prompt that was sent, as `lines` or as a file has it, text or a WAV.

        Raises ConfigError, DataError, DeviceError: at the first piece, what cannot be made.
        """
        state, codec = None, self.codec
        rate = codec.symbol_rate if codec.kind == "audio" else 1
        if max(keys.get("length") or 0, (keys.get("seconds") or 0) * rate) >= _MOST + 1:
            raise ConfigError(f"ask for at most {_MOST} symbols, or the seconds that they last")
        asked: Any = {**keys, "include_prompt": False, "sample": self._sample}
        symbols = self._symbols(body)
        if nats and lines:
            _, state = self.model.nats_of_symbols(symbols)
        drawn = _gathered(self.model.stream_symbols(symbols, **asked))
        if lines:
            yield from self._lines(drawn, state, nats)
        elif codec.kind == "audio":
            medium = medium_of(codec)
            for number, content in enumerate(medium.rendered(drawn)):
                samples = len(content) // (2 * codec.channels)
                yield medium.header() * (number == 0) + to_bytes(content), samples
        else:
            yield from ((to_bytes(codec.decode(piece)), len(piece)) for piece in drawn)

    def _symbols(self, body: bytes) -> Symbols | Integers:
        """The last ones of what was sent, which may be symbols of sound as a list of JSON.

        Sound that is encoded again is not the sound that it was. Raises ConfigError, DataError.
        """
        if not (self.sounds and body.startswith(b"[")):
            return self.model.encode(self._content(body)[-self.read :], self._sample.unknown)
        try:
            return checked_symbols(np.ravel(json.loads(body)), self.codec.size)[-_READ[True] :]
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"the symbols cannot be read: {error}") from error

    def _content(self, body: bytes) -> Any:
        """What was sent: text in UTF-8, bytes, or sound. Raises ConfigError, DataError."""
        if self.codec.kind == "audio":
            return _wave(body, self.codec) if body else np.zeros(0, np.float32)
        if self.codec.kind == "bytes":
            return body
        try:
            return body.decode()
        except UnicodeDecodeError as error:
            raise ConfigError(f"the text is not UTF-8: see byte {error.start}") from error

    def _lines(
        self, pieces: Iterable[Symbols | Integers], state: ModelState | None, nats: bool
    ) -> Pieces:
        """Symbols, after a state, as lines of JSON."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        samples_of = self.codec.samples_of if self.codec.kind == "audio" else int
        for symbols in pieces:
            line: dict[str, Any] = {}
            if self.codec.kind != "audio":
                line["text"] = decoder.decode(to_bytes(self.codec.decode(symbols)))
            line["symbols"] = symbols.tolist()
            if nats:
                losses, state = self.model.nats_of_symbols(symbols, state)
                line["nats"] = losses.astype(float).round(4).tolist()
            yield json.dumps(line).encode() + b"\n", samples_of(len(symbols))


def _gathered(stream: Iterator[Integers]) -> Iterator[Integers]:
    """What a stream gives in a moment, joined."""
    for first in stream:
        until, pieces = time.monotonic() + _MOMENT, [first]
        while time.monotonic() < until and (piece := next(stream, None)) is not None:
            pieces.append(piece)
        yield np.concatenate(pieces)


def _wave(body: bytes, codec: SoundCodec) -> Any:
    """A recording as the codec takes it, (N,) or (N, 2). Raises ConfigError, DataError."""
    blocks, left = [], _LONGEST * codec.sample_rate
    try:
        sound = SoundReader(Path("the recording"), body, isinstance(codec, Spectral))
        channels = codec.channels if sound.channels == codec.channels else 1
        for block in sound.resampled(codec.sample_rate, channels):
            blocks.append(block)
            left -= len(block)
            if left < 0:
                raise ConfigError(f"the recording is longer than {_LONGEST} s: cut it")
    except BadFileError as error:  # its hint is for trainings
        raise DataError(f"{error.file}: {error.reason}") from error
    samples = np.repeat(np.concatenate(blocks), codec.channels // channels, 1)
    return samples if codec.channels > 1 else samples[:, 0]
