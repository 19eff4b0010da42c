"""Files of sound, read in blocks and checked: WAV, FLAC, AIFF and AU by soundfile, others by av."""

import contextlib
import functools
import io
import itertools
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import soundfile

from seqkit.data import files
from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames, Wave
from seqkit.data.sound.resample import resampled
from seqkit.foundation.wording import counted

if TYPE_CHECKING:
    import av

SUFFIXES = (
    *(".wav", ".wave", ".flac", ".aif", ".aiff", ".aifc", ".au", ".mp3", ".mp2", ".ogg", ".oga"),
    *(".opus", ".m4a", ".aac", ".3gp", ".amr", ".wma", ".caf", ".wv", ".webm", ".mka", ".mp4"),
    ".mov",
)
"""Endings of the files that are read as sound in a folder."""
FRAMES = 1 << 13
"""In a block; larger ones are faster, and fragment the process's memory."""
_BY_SOUNDFILE = (b"RIFF", b"RF64", b"fLaC", b"FORM", b".snd")
_SHORT = 0.25  # seconds by which a sound may be shorter than its header says
_UNTOLD = 1 << 40  # frames; libsndfile reports more if no header says how many
_OPEN = 0x7EF00000  # bytes; a header says more if the sound was still to come
_LEAST_RATE = 1000  # hertz; resampling what says 1 Hz would make terabytes of megabytes
_FORMATS = (
    "aac,ac3,aiff,amr,asf,au,avi,caf,eac3,flac,loas,matroska,mov,mp3,mpeg,mpegts,ogg,tta,voc,w64,"
    "wav,wv"
)
"""Of FFmpeg's demuxers those that read one file; those of playlists would open others."""


def is_sound(path: Path) -> bool:
    """Whether a file opens as sound, whatever its name."""
    with contextlib.suppress(BadFileError):
        return bool(SoundReader(path).channels)
    return False


class SoundReader:
    """One file of sound, checked when it is opened and as it is read."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        """Open a file, or what is called like one and is in memory. Raises BadFileError."""
        self.path, self._content = path, content
        with self._sound() as sound:
            self.sample_rate, self.channels = sound.samplerate, sound.channels
            self.promised: int = sound.frames
            """How many frames the header says there are; 0 if it does not."""
        if self.sample_rate < _LEAST_RATE:
            fault = f"its header says {self.sample_rate} Hz: give it its true sample rate"
            raise BadFileError(path, fault)

    @functools.cached_property
    def frames(self) -> int:
        """How many there are, counted if no header says it. Raises BadFileError."""
        return self.promised or sum(map(len, self.all_channels()))

    def resampled(
        self, rate: int, channels: int = 1, channel: str = "mix", most: int = FRAMES
    ) -> Iterator[Frames]:
        """What `frames_of` gives, at a sample rate in hertz. Raises BadFileError."""
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
        with self._sound() as sound:
            for frames in sound.blocks(most, dtype="float32", always_2d=True):
                if not np.isfinite(frames).all():
                    index, place = np.argwhere(~np.isfinite(frames))[0]
                    fault = f"sample {read + index} is not finite ({frames[index, place]})"
                    raise BadFileError(self.path, fault)
                read += len(frames)
                yield frames
        if read == 0:
            raise BadFileError(self.path, "it holds no samples")
        if self.promised - read > _SHORT * self.sample_rate:
            fault = f"truncated: the header promises {self.promised} samples, {read} are there"
            raise BadFileError(self.path, fault)

    @contextlib.contextmanager
    def _sound(self) -> Iterator["soundfile.SoundFile | Decoder"]:
        """The file from its beginning. Raises BadFileError, also for what fails as it is read."""
        try:
            if self._content is None and not stat.S_ISREG(self.path.stat().st_mode):
                raise BadFileError(self.path, "no file of sound")  # a pipe might never open
            with (
                self.path.open("rb") if self._content is None else io.BytesIO(self._content) as file
            ):
                _check(self.path, file)
                yield _by_soundfile(file) or Decoder(self.path, file)
        except soundfile.SoundFileError as error:
            raise BadFileError(self.path, f"truncated or damaged: {error}") from error
        except OSError as error:
            raise BadFileError.of(self.path, error) from error


def read_whole(path: Path, seconds: float | None = None) -> tuple[Wave, int]:
    """A file, or its first seconds, mixed to mono, and its sample rate. Raises BadFileError."""
    sound = SoundReader(path)
    most = None if seconds is None else int(seconds * sound.sample_rate)
    blocks = itertools.islice(sound.frames_of(), most and -(-most // FRAMES))
    return np.concatenate([*blocks])[:most, 0], sound.sample_rate


def _by_soundfile(file: IO[bytes]) -> "soundfile.SoundFile | None":
    """The sound of a file whose header says how many samples it has; None for all others."""
    begin = file.read(4)
    file.seek(0)
    if begin in _BY_SOUNDFILE:
        with contextlib.suppress(soundfile.SoundFileError):
            sound = soundfile.SoundFile(file)
            if sound.seekable() and 0 < sound.frames < _UNTOLD and "MPEG" not in sound.subtype:
                return sound
        file.seek(0)
    return None


def _check(path: Path, file: IO[bytes]) -> None:
    """Refuse text, and a WAV or AIFF whose end is missing, which would be read as if whole."""
    begin, size = file.read(files.HEAD), file.seek(0, io.SEEK_END)
    file.seek(0)
    if not begin:
        raise BadFileError(path, "cannot be read as sound: it is empty")
    what = files.meant(begin)
    if what == files.PLAYLIST or files.is_text(begin, "utf-8"):
        hint = what or files.TEXT_HINT
        raise BadFileError(path, "cannot be read as sound: it is text", hint)
    promised = int.from_bytes(begin[4:8], "little" if begin.startswith(b"RIFF") else "big")
    if begin.startswith((b"RIFF", b"FORM")) and size < promised < _OPEN:
        fault = f"truncated: the header promises {promised + 8} bytes, {size} are there"
        raise BadFileError(path, fault)


class Decoder:
    """The first track of sound of a file, which is read as a SoundFile is."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        """Find the sample rate and the channels. Raises BadFileError."""
        import av  # here, since it takes a moment that most commands need not

        self._path = path
        try:
            self._container = av.open(file, "r", options={"format_whitelist": _FORMATS})
        except av.FFmpegError as error:
            fault = f"cannot be read as sound, or its end is missing: {error.strerror}"
            raise BadFileError(path, fault) from error
        tracks = [track for track in self._container.streams.audio if track.codec_context]
        if not tracks:
            raise BadFileError(path, "it holds no sound track")
        self._track = track = tracks[0]
        self.samplerate, self.channels = track.rate, track.channels
        self.frames = 0  # how many there are no header is asked

    def blocks(self, most: int, dtype: str, always_2d: bool) -> Iterator[Frames]:
        """The samples in blocks (n, C), n at `most`. Raises BadFileError."""
        import av

        read, resampler = 0, av.AudioResampler("flt", frame_size=most)
        try:
            for frame in itertools.chain(self._decoded(), [None]):
                for block in resampler.resample(frame):
                    read += block.samples
                    yield block.to_ndarray().reshape(-1, self.channels).astype(dtype, copy=False)
        except av.FFmpegError as error:
            fault = f"truncated, damaged or protected (DRM) after {read} samples: {error.strerror}"
            raise BadFileError(self._path, fault) from error
        except ValueError as error:
            fault = "its parts differ in sample rate or channels: make a file of each"
            raise BadFileError(self._path, fault) from error

    def _decoded(self) -> "Iterator[av.AudioFrame]":
        """The frames of the track; between joined MP3s there may be what is no sound."""
        import av

        for packet in self._container.demux(self._track):
            try:
                yield from packet.decode()
            except av.InvalidDataError:
                if self._container.format.name != "mp3":
                    raise
