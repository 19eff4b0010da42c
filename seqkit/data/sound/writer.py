"""Files of sound, written while the sound is made."""

import contextlib
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import soundfile

from seqkit.data.sound import Frames, Wave
from seqkit.foundation import disk
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import OutputError
from seqkit.symbols import Floats

_FORMATS = {
    **{".wav": "WAV", ".flac": "FLAC", ".ogg": "OGG", ".mp3": "MP3"},
    **{".aiff": "AIFF", ".aif": "AIFF"},
}
WRITTEN = tuple(_FORMATS)
"""Endings of the files that can be written."""
MOST_SAMPLES = (2**32 - 64) // 2
"""Samples of 16 bits that a WAV can hold, those of all channels counted."""

_FRAMES = 1 << 13  # given to an encoder at a time: libvorbis puts them on its stack
_OGG_RATE = 192_000  # the highest sample rate that libvorbis takes, in hertz
_MP3_RATES = (8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000)
_UNKNOWN = 0xFFFFFFFF  # the size in the header of a WAV that goes on until the stream ends


class Writer(Protocol):
    """What takes sound piece by piece."""

    begun: bool
    """Whether any was written."""

    def write(self, frames: Frames) -> None:
        """Append samples (n, C); what exceeds ±1 is clipped. Raises OutputError."""

    def close(self) -> None:
        """Finish what was written. Raises OutputError."""


@contextlib.contextmanager
def create(
    path: Path, sample_rate: int, overwrite: bool = False, channels: int = 1
) -> Iterator[Writer]:
    """A new file of C channels: WAV, FLAC or AIFF (16 bit), OGG or MP3 by its ending.

    A file that it replaces stays until the block has ended, and for good if that fails. Where there
    is none, a WAV can be played after every `write`, the others once the block has ended; if that
    fails, what was written stays, unless that is nothing, or not all could be.

    Raises:
        OutputError: the file cannot be written, or exists and `overwrite` is false.
    """
    if problem := refusal(path, sample_rate):
        raise OutputError(f"cannot write {path}: {problem}")
    kind = _Wav if path.suffix.lower() == ".wav" else _Encoded
    if overwrite and _has_content(path):
        with (
            disk.atomic_write(path) as stream,
            contextlib.closing(kind(stream, path, sample_rate, channels)) as output,
        ):
            yield output
        return
    growing, begun = disk.create(path, overwrite), False
    try:
        with (
            growing as stream,
            contextlib.closing(kind(stream, path, sample_rate, channels)) as output,
        ):
            try:
                yield output
            finally:
                begun = output.begun
    except BaseException as error:
        if not begun or isinstance(error, OutputError):
            disk.remove(path)
        raise


def refusal(path: Path, sample_rate: int) -> str | None:
    """Why a file cannot be written at a rate in hertz, by its ending; None if it can."""
    suffix = path.suffix.lower()
    if suffix not in WRITTEN:
        return f"sound is written as {', '.join(WRITTEN)}"
    if suffix == ".ogg" and sample_rate > _OGG_RATE:
        return f"OGG takes at most {_OGG_RATE} Hz: write a WAV, or give sample.rate=48000"
    if suffix == ".mp3" and sample_rate not in _MP3_RATES:
        nearest = min(_MP3_RATES, key=lambda rate: (rate < sample_rate, abs(rate - sample_rate)))
        return f"MP3 does not take {sample_rate} Hz: write a WAV, or give sample.rate={nearest}"
    return None


def pcm16(samples: Frames | Floats) -> bytes:
    """Samples (n,) or (n, C) as little-endian 16-bit integers, those of a frame side by side."""
    return np.clip(np.round(samples * 32768.0), -32768, 32767).astype("<i2").tobytes()


def whole_wav(wave: Wave | Floats, sample_rate: int) -> bytes:
    """A mono 16-bit WAV of samples (N,)."""
    data = pcm16(wave)
    length = len(open_header(sample_rate))
    return _header(sample_rate, length - 8 + len(data), len(data)) + data


def open_header(sample_rate: int, channels: int = 1) -> bytes:
    """The header of a 16-bit WAV that goes on until the stream ends."""
    return _header(sample_rate, _UNKNOWN, _UNKNOWN, channels)


def header(sample_rate: int, samples: int, channels: int = 1) -> bytes:
    """The header of a 16-bit WAV of so many samples, those of all channels counted."""
    size = 2 * samples
    riff_size = len(open_header(sample_rate)) - 8 + size
    return _header(sample_rate, riff_size, size, channels)


def _header(sample_rate: int, riff_size: int, data_size: int, channels: int = 1) -> bytes:
    size = 2 * channels  # bytes of a frame
    rates = sample_rate, size * sample_rate
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, channels, *rates, size, 16)
    riff = struct.pack("<4sI4s", b"RIFF", riff_size, b"WAVE")
    return riff + form + struct.pack("<4sI", b"data", data_size)


def _has_content(path: Path) -> bool:
    with contextlib.suppress(OSError):
        return path.stat().st_size > 0
    return False


class _Wav:
    def __init__(self, stream: OutputFile, path: Path, sample_rate: int, channels: int) -> None:
        self._path = path
        self._sample_rate = sample_rate
        self._channels = channels
        self._size = 0  # bytes of samples that the header promises
        self._stream = stream
        self.begun = False
        self.write(np.zeros(0, np.float32))  # the header at once

    def write(self, frames: Frames) -> None:
        data = pcm16(frames)
        size = self._size + len(data)
        if size > 2 * MOST_SAMPLES:
            raise OutputError(f"{self._path}: a WAV holds at most {MOST_SAMPLES} samples")
        length = len(open_header(self._sample_rate))
        # Samples first, then the header that promises them: whenever this ends, it is true.
        self._stream.seek(length + self._size)
        self._stream.write(data)
        self._stream.seek(0)
        self._stream.write(header(self._sample_rate, size // 2, self._channels))
        self._stream.flush()
        self._size = size
        self.begun = size > 0

    def close(self) -> None:
        self._stream.flush()


class _Encoded:
    def __init__(self, stream: OutputFile, path: Path, sample_rate: int, channels: int) -> None:
        self._path = path
        self._stream = _Stream(stream)
        self.begun = False
        with self._encoding():
            self._file = soundfile.SoundFile(
                self._stream, "w", sample_rate, channels, format=_FORMATS[path.suffix.lower()]
            )

    def write(self, frames: Frames) -> None:
        for begin in range(0, len(frames), _FRAMES):
            with self._encoding():
                self._file.write(np.clip(frames[begin : begin + _FRAMES], -1, 1))
            self.begun = True

    def close(self) -> None:
        with self._encoding():
            self._file.close()

    @contextlib.contextmanager
    def _encoding(self) -> Iterator[None]:
        """Raise as OutputError what fails in libsndfile, or fails to be written."""
        try:
            yield
        except soundfile.SoundFileError as error:
            self._stream.check()
            raise OutputError(f"cannot write {self._path}: {error}") from error
        self._stream.check()


class _Stream:
    """What libsndfile writes to. It calls from C, where an exception would be lost."""

    def __init__(self, stream: OutputFile) -> None:
        self._stream = stream
        self._error: OutputError | None = None
        self.tell = stream.tell

    def check(self) -> None:
        """Raise what a call from C could not: OutputError."""
        if self._error:
            raise self._error

    def write(self, data: bytes) -> int:
        try:
            self._stream.write(data)
        except OutputError as error:
            self._error = error
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        try:
            return self._stream.seek(offset, whence)
        except OutputError as error:  # of what was to be written before
            self._error = error
            return 0
