"""Files of sound, written while the sound is made."""

import struct
import wave
from pathlib import Path
from typing import IO, Protocol

import numpy as np
import soundfile

from seqkit.data.sound import Wave
from seqkit.errors import OutputError

WRITTEN = (".wav", ".flac", ".ogg")
"""Endings of the files that can be written."""
MOST_SAMPLES = (2**32 - 64) // 2
"""Of 16 bits, in a WAV."""

_FRAMES = 1 << 13  # handed to an encoder at a time
_OGG_RATE = 192_000  # hertz that libvorbis takes


class Writer(Protocol):
    """Something that a wave is written to."""

    def write(self, wave: Wave) -> None:
        """Append samples (n,); what exceeds ±1 is clipped."""

    def close(self) -> None:
        """Finish the file."""


def create(path: Path, sample_rate: int, overwrite: bool = False) -> Writer:
    """A new mono file: WAV (16 bit), FLAC or OGG by its ending.

    A WAV is whole after every `write`; the others are when they are closed.

    Raises:
        OutputError: the file cannot be written, or is there and `overwrite` is false.
    """
    if path.suffix.lower() == ".ogg" and sample_rate > _OGG_RATE:
        raise OutputError(f"cannot write {path}: OGG takes at most {_OGG_RATE} Hz; write a WAV")
    try:
        # The name is taken at once, so that nobody else's file is replaced.
        stream = path.open("wb" if overwrite else "xb")
        if path.suffix.lower() == ".wav":
            return _Wav(stream, sample_rate)
        stream.close()
        return _Encoded(path, sample_rate)
    except FileExistsError as error:
        raise OutputError(f"{path} exists: give another out, or overwrite=true") from error
    except (OSError, soundfile.SoundFileError) as error:
        raise OutputError(f"cannot write {path}: {error}") from error


def pcm16(samples: Wave) -> bytes:
    """Samples as little-endian 16-bit integers."""
    return np.clip(np.round(samples * 32768.0), -32768, 32767).astype("<i2").tobytes()


def open_header(sample_rate: int) -> bytes:
    """The header of a mono 16-bit WAV that goes on until the stream ends."""
    form = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, sample_rate, 2 * sample_rate, 2, 16)
    return b"RIFF\xff\xff\xff\xffWAVE" + form + b"data\xff\xff\xff\xff"


class _Wav:
    def __init__(self, stream: IO[bytes], sample_rate: int) -> None:
        self._stream = stream
        self._wave = wave.Wave_write(stream)
        self._wave.setparams((1, 2, sample_rate, 0, "NONE", ""))
        self._wave.writeframes(b"")  # the header at once
        self._stream.flush()

    def write(self, samples: Wave) -> None:
        self._wave.writeframes(pcm16(samples))  # puts the header right, too
        self._stream.flush()

    def close(self) -> None:
        self._wave.close()
        self._stream.close()


class _Encoded:
    def __init__(self, path: Path, sample_rate: int) -> None:
        self._file = soundfile.SoundFile(
            str(path), "w", sample_rate, 1, format=path.suffix[1:].upper()
        )

    def write(self, samples: Wave) -> None:
        # libvorbis lays what it is given on its stack.
        for begin in range(0, len(samples), _FRAMES):
            self._file.write(np.clip(samples[begin : begin + _FRAMES], -1, 1))

    def close(self) -> None:
        self._file.close()
