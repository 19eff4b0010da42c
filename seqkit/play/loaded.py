"""A model that is served: what it makes and scores, in pieces that take a moment."""

import codecs
import json
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch

from seqkit.api.generate_calls import GenerateKeys, config_of
from seqkit.api.model import Model
from seqkit.api.symbol_reader import ModelState
from seqkit.data.codecs import Quantiser
from seqkit.data.files import BadFileError
from seqkit.data.sound import reader, writer
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.stdout import to_bytes
from seqkit.generation.medium import medium_of
from seqkit.runs.checkpoint import Checkpoint

_READ = 20_000  # characters or frames of a prompt that are read, the last ones
_TOLD = 4_000  # those that a model reads which is told labels or codes, all at once
_PIECE, _MOMENT = 256, 0.02  # characters or frames, and seconds
_MOST = 5_000_000  # symbols of a sample
_LONGEST = 120  # seconds of a recording


class Loaded:
    """A model, beside its checkpoint. One thread at a time may use it."""

    def __init__(self, saved: Checkpoint, device: torch.device) -> None:
        self.saved, self.codec, self.model = saved, saved.codec, Model[Any](saved, device)
        self.sounds = isinstance(saved.codec, Quantiser)

    def content(self, body: bytes) -> Any:
        """What was sent: text in UTF-8, bytes, or a file of sound. Raises ConfigError."""
        if isinstance(self.codec, Quantiser):
            return _wave(body, self.codec) if body else np.zeros(0, np.float32)
        if self.codec.kind == "bytes":
            return body
        try:
            text = body.decode()
        except UnicodeDecodeError as error:
            raise ConfigError(f"the text is not UTF-8: see byte {error.start}") from error
        lf = self.saved.newline == "lf"
        return text.replace("\r\n", "\n").replace("\r", "\n") if lf else text

    def check(self, keys: GenerateKeys) -> None:
        """Raise ConfigError for keys out of range, and for a sample that is too long."""
        config_of(keys)
        medium = medium_of(self.codec)
        if (length := medium.length(keys.get("length"), keys.get("seconds"))) > _MOST:
            raise ConfigError(f"length={length}, in symbols: ask for at most {_MOST}")

    def read(self, prompt: Any) -> Iterator[ModelState]:
        """The states in a prompt, the last one that after it, which `continued` starts from."""
        state = None
        if self.saved.labels is None and self.saved.slow is None:
            for piece in cut(prompt[-_READ:]):
                state = self.model.state(piece, state=state)
                yield state

    def continued(self, prompt: Any, state: ModelState | None, keys: GenerateKeys) -> Iterator[Any]:
        """What follows a prompt; `state` is after it, if `read` gave one.

        Raises:
            ConfigError, DeviceError: at the first content, what cannot be made.
        """
        told = state is None and len(prompt) > 0
        stream = self.model.stream(prompt[-_TOLD:] if told else None, state=state, **keys)
        if told:
            next(stream)  # the prompt
        for first in stream:
            until, made = time.monotonic() + _MOMENT, [first]
            while time.monotonic() < until and (piece := next(stream, None)) is not None:
                made.append(piece)
            yield np.concatenate(made) if self.sounds else type(first)().join(made)

    def stored(self, contents: Iterable[Any]) -> Iterator[tuple[bytes, int]]:
        """Contents as a file has them, text or a WAV, each with its length."""
        begin, codec = b"", self.codec
        if isinstance(codec, Quantiser):
            begin = writer.header(codec.sample_rate, codec.channels)
        for own in contents:
            yield begin + (writer.pcm16(own) if self.sounds else to_bytes(own)), len(own)
            begin = b""

    def lines(
        self, contents: Iterable[Any], state: ModelState | None = None, nats: bool = True
    ) -> Iterator[tuple[bytes, int]]:
        """Contents, after a state, as lines of JSON, each with its length."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        for own in contents:
            line = {} if self.sounds else {"text": decoder.decode(to_bytes(own))}
            line["symbols"] = self.codec.encode(own).tolist()
            if nats:
                found, state = self.model.nats(own, state=state, return_state=True)
                line["nats"] = found.astype(float).round(4).tolist()
            yield json.dumps(line).encode() + b"\n", len(own)


def cut(content: Any) -> Iterator[Any]:
    """A content in pieces each of which takes a moment."""
    return (content[begin : begin + _PIECE] for begin in range(0, len(content), _PIECE))


def _wave(body: bytes, codec: Quantiser) -> Any:
    """A recording as the codec takes it, (N,) or (N, 2)."""
    frames, blocks = 0, []
    with disk.scratch(disk.cache_dir() / "played.wav") as (stream, path):
        stream.write(body)
        stream.flush()
        try:
            for block in reader.Reader(path).resampled(codec.sample_rate, codec.channels):
                frames += len(block)
                if frames > _LONGEST * codec.sample_rate:
                    raise ConfigError(f"the recording is longer than {_LONGEST} s: cut it")
                blocks.append(block)
        except BadFileError as error:
            raise ConfigError(f"the recording: {error.reason}") from error
    frames_read = np.concatenate(blocks)
    return frames_read if codec.channels > 1 else frames_read[:, 0]
