"""WAVs of 16 bits, written while the sound is made."""

import contextlib
import shlex
import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from seqkit.data.sound import Frames, Wave, reader
from seqkit.foundation import disk
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import OutputError
from seqkit.symbols import Floats

SUFFIX = ".wav"
MOST_SAMPLES = (2**32 - 64) // 2
"""Samples of 16 bits that a WAV can hold, those of all channels counted."""

_HEADER = 44  # bytes of a WAV's
_UNKNOWN = 0xFFFFFFFF  # the size in the header of a WAV that goes on until the stream ends


@contextlib.contextmanager
def create(
    path: Path, sample_rate: int, overwrite: bool = False, channels: int = 1
) -> Iterator["_Wav"]:
    """A new WAV of C channels, which can be played after every `write`.

    What it gives has `write`, for samples (n, C) that are appended; what exceeds ±1 is clipped.

    A file that it replaces stays until the block has ended, and for good if that fails. Where there
    is none, what was written stays if the block fails, unless that is nothing, or not all could be.

    Raises OutputError: the file cannot be written, or exists and `overwrite` is false.
    """
    replaces = begun = False
    with contextlib.suppress(OSError):
        replaces = overwrite and path.stat().st_size > 0
    new_file = disk.atomic_write(path) if replaces else disk.create(path, overwrite)
    try:
        with new_file as stream:
            output = _Wav(stream, path, sample_rate, channels)
            try:
                yield output
            finally:
                begun = output.begun
    except BaseException as error:
        if not replaces and (not begun or isinstance(error, OutputError)):
            disk.remove(path)
        raise


def refusal(path: Path) -> str | None:
    """Why a file cannot be written, by its ending; None if it can."""
    if path.suffix.lower() != SUFFIX:
        command = f": `ffmpeg -i FILE.wav {shlex.quote(path.name)}` makes others of it"
        hint = command if path.suffix.lower() in reader.SUFFIXES else ""
        return f"sound is written as {SUFFIX}{hint}"
    return None


def pcm16(samples: Frames | Floats) -> bytes:
    """Samples (n,) or (n, C) as little-endian 16-bit integers, those of a frame side by side."""
    return np.clip(np.round(samples * 32768.0), -32768, 32767).astype("<i2").tobytes()


def whole_wav(wave: Wave | Floats, sample_rate: int) -> bytes:
    """A mono 16-bit WAV of samples (N,)."""
    data = pcm16(wave)
    return header(sample_rate, samples=len(data) // 2) + data


def header(sample_rate: int, channels: int = 1, samples: int | None = None) -> bytes:
    """The header of a 16-bit WAV of so many samples, those of all channels counted.

    Without a number, or with more than it can say, the WAV goes on until the stream ends.
    """
    frame = 2 * channels  # bytes
    form = struct.pack("<HHIIHH", 1, channels, sample_rate, frame * sample_rate, frame, 16)
    size, whole = _UNKNOWN, _UNKNOWN
    if samples is not None and samples <= MOST_SAMPLES:
        size, whole = 2 * samples, _HEADER - 8 + 2 * samples
    riff = struct.pack("<4sI4s4sI", b"RIFF", whole, b"WAVE", b"fmt ", len(form))
    return riff + form + struct.pack("<4sI", b"data", size)


class _Wav:
    def __init__(self, stream: OutputFile, path: Path, sample_rate: int, channels: int) -> None:
        self._stream, self._path = stream, path
        self._sample_rate, self._channels = sample_rate, channels
        self._size = 0  # bytes of samples that the header promises
        self.write(np.zeros(0, np.float32))  # the header at once

    def write(self, frames: Frames) -> None:
        data = pcm16(frames)
        size = self._size + len(data)
        if size > 2 * MOST_SAMPLES:
            raise OutputError(f"{self._path}: a WAV holds at most {MOST_SAMPLES} samples")
        # Samples first, then the header that promises them: whenever this ends, it is true.
        self._stream.seek(_HEADER + self._size)
        self._stream.write(data)
        self._stream.seek(0)
        self._stream.write(header(self._sample_rate, self._channels, size // 2))
        self._stream.flush()
        self._size = size
        self.begun = size > 0
