"""Files of sound, read in blocks and checked."""

import codecs
import functools
import io
import itertools
import os
import stat
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import soundfile

from seqkit.data import files
from seqkit.data.files import TEXT_HINT, BadFileError
from seqkit.data.sound import Frames, Wave, ffmpeg
from seqkit.data.sound.mp3_and_ogg import Stream, streams, wav_command
from seqkit.data.sound.resample import resampled
from seqkit.foundation.wording import counted

SUFFIXES = frozenset(
    {f".{name.lower()}" for name in soundfile.available_formats() if name != "RAW"}
    | {".wave", ".aif", ".aifc", ".oga", ".opus", ".aac", ".m4a", ".3gp", ".amr", ".wma"}
)
"""Endings of the files that are read as sound in a folder."""

FRAMES = 1 << 13
"""In a block; larger ones are faster, and fragment the process's memory."""
_CHUNKS = {b"WAVE": ("<4sI", b"data"), b"AIFF": (">4sI", b"SSND"), b"AIFC": (">4sI", b"SSND")}
"""By the kind of a form: what its chunks begin with, and which of them holds the sound."""
# Sizes that programs write into a header when they do not know where the sound will end.
_OPEN_SIZES = (*range(0x7EFFFC00, 0x7F000009), 0x7FFFF000, 0x7FFFFFFF, 0x80000000)
_OPEN_SIZES_FROM = 0xFFFFFFFF - (1 << 10)  # the largest size, or that less a header
# Times that resampling may make a file longer. From 4000 Hz, the least that recorders of sound
# have, to the highest rate of a model it is 96; 1 Hz in a header makes terabytes of megabytes.
_MOST_GROWTH = 100
_UNKNOWN = 1 << 40  # frames; libsndfile reports more where no header says how many


def is_sound(file: Path) -> bool:
    """Whether a file can be opened as sound, whatever its name."""
    try:
        with file.open("rb") as stream:
            if stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
                return False  # libsndfile would look for an MP3 in it, and say on stderr if not
            if ffmpeg.demuxer_of(stream) or any(streams(file, stream)):
                return True
            soundfile.info(_in_one_part(file, stream))
    except BadFileError:  # sound that is truncated
        return True
    except (soundfile.SoundFileError, OSError, TypeError):  # TypeError: a .raw has no header
        return False
    return True


class _InOrder(soundfile.SoundFile):  # type: ignore[misc]
    """Read from beginning to end; a seek after each block would change an MP3, and end a DWVW."""

    def seekable(self) -> bool:
        return False

    @property
    def frames(self) -> int:  # which the header of a WAV of MP3 guesses
        return _UNKNOWN if self.format == "WAV" and "MPEG" in self.subtype else super().frames


class SoundReader:
    """One file of sound, checked when it is opened and as it is read."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        """Open a file, or what is called like one and is in memory. Raises BadFileError."""
        self.path, self._content, self._demuxer = path, content, ""
        try:
            # A pipe might never open.
            if content is None and not stat.S_ISREG(path.stat().st_mode):
                raise BadFileError(path, "no file of sound")
            with self._open() as stream:
                _check_length(path, stream)
            parts = self._formats()
        except OSError as error:
            raise BadFileError.of(path, error) from error
        self.sample_rate, self.channels, _ = parts[0]
        if len({part[:2] for part in parts}) > 1:
            fault = "its parts differ in sample rate or channels: make a file of each"
            raise BadFileError(path, fault)
        frames = sum(frames for _, _, frames in parts)
        self.promised = frames if frames < _UNKNOWN else 0
        """How many frames the header says there are; 0 if it does not."""

    @functools.cached_property
    def frames(self) -> int:
        """How many there are, counted where no header says it. Raises BadFileError."""
        return self.promised or sum(map(len, self.all_channels()))

    def resampled(
        self, rate: int, channels: int = 1, channel: str = "mix", most: int = FRAMES
    ) -> Iterator[Frames]:
        """What `frames_of` gives, at a sample rate in hertz.

        Raises BadFileError, at once if the file would become far longer.
        """
        if rate > _MOST_GROWTH * self.sample_rate:
            raise BadFileError(
                self.path,
                f"its header says {self.sample_rate} Hz, which is too little for {rate} Hz",
                f"give it its true sample rate; {-(-rate // _MOST_GROWTH)} Hz is the least",
            )
        blocks = self.frames_of(channels, channel, most)
        return resampled(blocks, self.sample_rate, rate, channels)

    def frames_of(
        self, channels: int = 1, channel: str = "mix", most: int = FRAMES
    ) -> Iterator[Frames]:
        """Blocks (n, C) of so many channels, n at `most`.

        Args:
            channels: C, 1 or 2; into both of stereo goes the one of a mono file.
            channel: which one is read where C is 1: its number from 0, or mix, the mean of all.
            most: frames in a block.

        Raises:
            BadFileError: no such channel, or more channels than are asked for in stereo; and as
                `all_channels`.
        """
        if channels == 1 and channel != "mix" and int(channel) >= self.channels:
            fault = f"data.channel={channel}: it has {counted(self.channels, 'channel')}, from 0"
            raise BadFileError(self.path, fault)
        if self.channels > channels > 1:
            fault = f"data.channels={channels}: it has {self.channels} channels"
            raise BadFileError(self.path, f"{fault}: mix it down, or leave the key out")
        weights = np.full(self.channels, 1 / self.channels, np.float32)
        for frames in self.all_channels(most):
            if channels > 1:
                yield np.repeat(frames, channels // self.channels, axis=1)
            elif channel == "mix":
                yield (frames @ weights)[:, None]
            else:
                yield frames[:, int(channel), None]

    def all_channels(self, most: int = FRAMES) -> Iterator[Frames]:
        """The samples of every channel in blocks (n, C), n at `most`.

        Raises:
            BadFileError: a sample that is not finite, or fewer samples than the header promises.
        """
        read = 0
        try:
            for sound in self._parts():
                end = read + sound.frames
                while len(frames := sound.read(most, dtype="float32", always_2d=True)):
                    finite = np.isfinite(frames)
                    if not finite.all():
                        index, place = map(int, np.argwhere(~finite)[0])
                        fault = f"sample {read + index} is not finite ({frames[index, place]})"
                        raise BadFileError(self.path, fault)
                    read += len(frames)
                    yield frames
                if read < end < _UNKNOWN and sound.format != "MP3":  # whose frames were counted
                    fault = f"the header promises {end} samples, {read} are there"
                    raise BadFileError(self.path, f"truncated: {fault}")
        except soundfile.SoundFileError as error:
            raise BadFileError(self.path, f"damaged after {read} samples") from error
        except OSError as error:
            raise BadFileError.of(self.path, error) from error
        if read == 0:
            raise BadFileError(self.path, "it holds no samples")

    def _open(self) -> IO[bytes]:
        if self._content is None:
            return self.path.open("rb")
        file: IO[bytes] = (tempfile.TemporaryFile if self._demuxer else io.BytesIO)()
        file.write(self._content)
        file.seek(0)
        return file

    def _formats(self) -> list[tuple[int, int, int]]:
        """Sample rate, channels and frames of each part. Raises BadFileError, OSError."""
        try:
            return [(sound.samplerate, sound.channels, sound.frames) for sound in self._parts()]
        except (soundfile.SoundFileError, TypeError) as error:  # TypeError: a .raw has no header
            with self._open() as file:
                refusal = _no_sound(self.path, file.read(files.HEAD), error)
                self._demuxer = ffmpeg.demuxer_of(file)
            if not self._demuxer:
                raise refusal from error
        try:
            return self._formats()
        except BadFileError as error:
            reason = "" if "not recognised" in refusal.reason else f"{refusal.reason}; "
            raise BadFileError(self.path, reason + error.reason, error.hint) from error

    def _parts(self) -> Iterator[_InOrder | ffmpeg.Decoder]:
        """Each stream of sound from its beginning. Raises SoundFileError, OSError, BadFileError."""
        with self._open() as file:
            if self._demuxer:
                with ffmpeg.decoded(self.path, file, self._demuxer) as decoder:
                    yield decoder
                return
            parts: list[Any] = [*streams(self.path, file)]
            whole = _in_one_part(self.path, file) if self._content is None else self._open()
            for part in parts or [whole]:
                with _InOrder(part) as sound:
                    yield sound
                if isinstance(part, Stream) and part.error:
                    raise part.error


def read_whole(path: Path, seconds: float | None = None) -> tuple[Wave, int]:
    """A file, or its first seconds, mixed to mono, and its sample rate. Raises BadFileError."""
    sound = SoundReader(path)
    most = None if seconds is None else int(seconds * sound.sample_rate)
    blocks = itertools.islice(sound.frames_of(), most and -(-most // FRAMES))
    return np.concatenate([*blocks])[:most, 0], sound.sample_rate


def _in_one_part(path: Path, file: IO[bytes]) -> bytes | IO[bytes]:
    """What soundfile opens where there are no streams: the file by its name, which may be no UTF-8.

    Of a name that ends in .mp3 libsndfile would say on stderr that there are no frames.
    """
    file.seek(0)
    return file if path.suffix.lower() == ".mp3" else os.fsencode(path)


def _no_sound(path: Path, begin: bytes, error: Exception) -> BadFileError:
    """Why a file that begins so cannot be opened as sound."""
    if begin and files.is_text(begin, "utf-8"):
        hint = files.PLAYLIST_HINT if begin.startswith(files.PLAYLISTS) else TEXT_HINT
        return BadFileError(path, "cannot be read as sound: it is text", hint)
    why = str(getattr(error, "error_string", error)).strip().rstrip(".")
    hint = f"if it is sound, {wav_command(path)} may convert it" if begin else ""
    return BadFileError(path, f"cannot be read as sound: {why if begin else 'it is empty'}", hint)


def _check_length(path: Path, stream: IO[bytes]) -> None:
    """Refuse a WAV or AIFF whose end is missing; libsndfile would read it as if whole."""
    form = stream.read(12)
    if form[:4] not in (b"RIFF", b"FORM") or form[8:] not in _CHUNKS:
        return
    head, wanted = _CHUNKS[form[8:]]
    size = stream.seek(0, os.SEEK_END)
    stream.seek(12)
    while len(chunk := stream.read(8)) == 8:
        name, length = struct.unpack(head, chunk)
        if name != wanted:
            stream.seek(length + length % 2, os.SEEK_CUR)
            continue
        there = size - stream.tell()
        if length > there and length not in _OPEN_SIZES and length < _OPEN_SIZES_FROM:
            fault = f"the header promises {length} bytes of sound, {there} are there"
            raise BadFileError(path, f"truncated: {fault}")
        return
