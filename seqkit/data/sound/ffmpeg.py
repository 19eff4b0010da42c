"""Sound that soundfile does not read, as the program ffmpeg decodes it.

ffmpeg is told which of its demuxers takes a file, by how the file begins. So a playlist, which
names other files and addresses, is never followed.
"""

import contextlib
import os
import re
import selectors
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import numpy as np

from seqkit.data.files import HEAD, BadFileError
from seqkit.data.sound import Frames
from seqkit.data.sound.mp3_and_ogg import after_tags, wav_command

_BEGIN = re.compile(  # of what each demuxer takes; of no pictures (HEIC)
    rb"""(?P<mov>\x00...(?:ftyp(?!avi|cr|he|mi|ms)|moov|mdat|wide|free|skip))
    | (?P<asf>\x30\x26\xb2\x75\x8e\x66\xcf\x11) | (?P<mpeg>\x00\x00\x01\xba) | (?P<rm>\.RMF\x00)
    | (?P<mpegts>(?:\x47[\x00-\x1f\x40-\x5f].[\x10-\x3f].{184}){3}\x47) | (?P<flv>FLV\x01)
    | (?P<aac>(?P<sync>\xff[\xf0\xf1\xf8\xf9].).{4,8188}(?P=sync)) | (?P<wv>wvpk.{5}\x04)
    | (?P<ac3>\x0b\x77.{4,4094}\x0b\x77) | (?P<dts>\x7f\xfe\x80\x01) | (?P<amr>\#!AMR(?:-WB)?\n)
    | (?P<ape>MAC\ .[\x0e\x0f]) | (?P<tta>TTA1[\x01\x02]\x00) | (?P<matroska>\x1a\x45\xdf\xa3)
    | (?P<avi>RIFF....AVI\ ) | (?P<wav>RIFF....WAVE) | (?P<ogg>OggS\x00) | (?P<caf>caff\x00\x01)""",
    re.DOTALL | re.VERBOSE,
)
_PATIENCE = 60.0  # seconds in which ffmpeg has to make something
_WORDS = 1 << 12  # bytes of what it says that are kept
_CUT, _NO_TRACK = b"ended prematurely", b"matches no streams"  # in its words
_HEADER = struct.Struct(">4sIIIII")  # of AU: a name, the header's size, …, sample rate, channels


def demuxer_of(file: IO[bytes]) -> str:
    """The demuxer that takes what a file holds; empty if it is no known format of sound."""
    file.seek(after_tags(file, 0))
    found = _BEGIN.match(file.read(HEAD))
    return (found and found.lastgroup) or ""


def begins_as_sound(path: Path) -> bool:
    """Whether this is a file, and begins as one of these formats."""
    with contextlib.suppress(OSError):
        if path.is_file():  # a pipe might never open
            with path.open("rb") as file:
                return bool(demuxer_of(file))
    return False


class Decoder:
    """The first track of sound of a file, which is read as a SoundFile is."""

    format, frames = "", 1 << 62  # how many there are no header is asked

    def __init__(self, path: Path, process: "subprocess.Popen[bytes]") -> None:
        """Wait for the sample rate and the number of channels. Raises BadFileError."""
        self._path, self._process, self._words = path, process, b""
        self._pipes = selectors.PollSelector()
        for pipe in filter(None, (process.stdout, process.stderr)):
            self._pipes.register(pipe, selectors.EVENT_READ)
        header = self._bytes(_HEADER.size).ljust(_HEADER.size, b"\0")
        _, size, _, _, self.samplerate, self.channels = _HEADER.unpack(header)
        if not self.channels:
            raise BadFileError(path, "it holds no samples")
        self._bytes(size - _HEADER.size)

    def read(self, frames: int, dtype: str, always_2d: bool) -> Frames:
        """The next frames (n, C), n at `frames` and 0 at the end. Raises BadFileError."""
        samples = np.frombuffer(self._bytes(4 * self.channels * frames), ">f4").astype(dtype)
        return samples.reshape(-1, self.channels)

    def _bytes(self, size: int) -> bytes:
        """What ffmpeg makes next, less than `size` only at the end. Raises BadFileError."""
        made, until = b"", time.monotonic() + _PATIENCE
        while len(made) < size and self._pipes.get_map():
            ready = self._pipes.select(_PATIENCE)
            if not ready or time.monotonic() > until:
                raise BadFileError(self._path, f"ffmpeg made nothing of it in {_PATIENCE:g} s")
            for key, _ in ready:
                is_sound = key.fileobj is self._process.stdout
                piece = os.read(key.fd, size - len(made) if is_sound else _WORDS)
                if not piece:
                    self._pipes.unregister(key.fileobj)
                elif is_sound:
                    made, until = made + piece, time.monotonic() + _PATIENCE
                else:
                    self._words += piece[: _WORDS - len(self._words)]
        if len(made) < size and ((code := self._process.wait()) or _CUT in self._words):
            raise self._fault(code)
        return made

    def _fault(self, code: int) -> BadFileError:
        if _NO_TRACK in self._words:
            return BadFileError(self._path, "it holds no sound track")
        if code < 0:
            return BadFileError(self._path, f"ffmpeg was killed by signal {-code}")
        words = re.sub(rb"\[[^]]*\] |file:/dev/stdin: ", b"", self._words).decode(errors="replace")
        said = words.strip().partition("\n")[0].rstrip(".") or f"exit code {code}"
        fault = f"truncated, damaged or protected (DRM), says ffmpeg: {said}"
        return BadFileError(self._path, fault, f"{wav_command(self._path)} makes a WAV of the rest")


@contextlib.contextmanager
def decoded(path: Path, file: IO[bytes], demuxer: str) -> Iterator[Decoder]:
    """A file that is open at its beginning, decoded until the block ends. Raises BadFileError."""
    source = f"-nostdin -v error -xerror -protocol_whitelist file -f {demuxer} -i file:/dev/stdin"
    command = f"ffmpeg {source} -map 0:a:0 -map_metadata -1 -c:a pcm_f32be -f au pipe:1".split()
    pipe = subprocess.PIPE
    try:  # in a group of its own, which no Ctrl-C reaches
        process = subprocess.Popen(command, stdin=file, stdout=pipe, stderr=pipe, process_group=0)
    except OSError as error:
        fault = f"needs the program ffmpeg, which does not start ({error.strerror}): install it, or"
        raise BadFileError(path, f"{fault} convert it elsewhere: {wav_command(path)}") from error
    with process:
        try:
            yield Decoder(path, process)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
