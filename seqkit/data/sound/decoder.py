"""What opens files of sound: soundfile for WAV, FLAC, AIFF and AU, av for all others."""

import contextlib
import io
import itertools
import mimetypes
import shlex
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

import soundfile

from seqkit.data import files
from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames
from seqkit.foundation import disk

if TYPE_CHECKING:
    import av

_BY_SOUNDFILE = (b"RIFF", b"RF64", b"fLaC", b"FORM", b".snd", b"dns.")
_UNTOLD = 1 << 40  # frames; libsndfile reports more if no header says how many
_OPEN = 0x7EF00000  # bytes; a header says more if the sound was still to come
_LINES = 20  # line ends, which samples have by chance
_LOST = "\ufffd".encode()  # what a decoder puts in the place of what it cannot read
_SLACK = 64  # bytes, of headers, that some recorders count twice
_FORMATS = (
    "aac,ac3,aiff,amr,asf,au,avi,caf,eac3,flac,loas,matroska,mov,mp3,mpeg,mpegts,nistsphere,ogg,"
    "tta,voc,w64,wav,wv"
)
"""Of FFmpeg's demuxers those that read one file; those of playlists would open others."""
_BARE = {
    **dict.fromkeys((".pcm", ".raw", ""), "s16le -ar 44100"),
    **dict.fromkeys((".ulaw", ".ul"), "mulaw -ar 8000"),
    **dict.fromkeys((".alaw", ".al"), "alaw -ar 8000"),
    ".sln": "s16le -ar 8000",
}
"""What samples without a header may be, by the end of their file's name."""


def begins_as_sound(begin: bytes) -> bool:
    """Whether a file begins as sound does that may be cut off within its header."""
    forms = b"RIFFWAVE", b"RIFXWAVE", b"RF64WAVE", b"BW64WAVE", b"FORMAIFF", b"FORMAIFC"
    others = b"fLaC\0", b"OggS\0", b".snd\0", b"caff\0", b"ID3\3\0", b"ID3\4\0", b"NIST_1A\n"
    return begin[:4] + begin[8:12] in forms or begin.startswith(others)


class Seekable(io.BufferedReader):
    """A file, or memory, whose places that are none are told by -1.

    An exception within the libraries' calls would be printed with its traceback.
    """

    def seek(self, place: int, whence: int = 0) -> int:
        """Go to a place."""
        try:
            return super().seek(place, whence)
        except (OSError, ValueError):
            return -1


def opened(path: Path, file: IO[bytes]) -> "soundfile.SoundFile | Decoder":
    """The sound of an open file, from its beginning. Raises BadFileError."""
    begin, size = file.read(files.HEAD), file.seek(0, io.SEEK_END)
    end = file.seek(_promised(begin)) if begin.startswith(b"RIFF") else size
    if 0 < end < size and file.read(4) == b"RIFF":
        command = f"`tail -c +{end + 1} {shlex.quote(str(path))} > {disk.unused('.wav')}`"
        raise BadFileError(path, f"another WAV begins at its byte {end}", f"{command} takes it")
    file.seek(0)
    _check(path, begin, size)
    return _by_soundfile(file) or Decoder(path, file, begin)


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


def _check(path: Path, begin: bytes, size: int) -> None:
    """Refuse what would be read as if it were right: text, a missing end, samples of odd width."""
    if not begin:
        raise BadFileError(path, "cannot be read as sound: it is empty")
    windows = begin.count(b"\n") == begin.count(b"\r\n") > _LINES  # by chance one in 256 is
    if windows or begin.count(_LOST) > _LINES or b"R\0I\0F\0F" in begin[:_LINES]:
        fault = "a program took it for text, and changed its bytes"
        raise BadFileError(path, fault, "copy it again, as binary")
    if not begins_as_sound(begin) and files.is_text(begin, "utf-8"):
        named = (mimetypes.guess_type(path.name)[0] or "").startswith("audio")
        hint = "an editor shows it: perhaps an error of the server that it is from"
        hint = files.meant(begin) or (hint if named else files.TEXT_HINT)
        raise BadFileError(path, "cannot be read as sound: it is text", hint)
    if what := files.meant(begin):
        raise BadFileError(path, f"cannot be read as sound: it is {what}")
    place = begin.find(b"RIFF", 1)
    if place > 0 and begin[place + 8 :].startswith(b"WAVE"):
        command = f"`tail -c +{place + 1} {shlex.quote(str(path))} > {disk.unused('.wav')}`"
        raise BadFileError(path, f"a WAV begins at its byte {place}", f"{command} takes it")
    if begin.startswith(b"RIFF") and (place := begin.find(b"OggS")) > 0:
        command = f"`tail -c +{place + 1} {shlex.quote(str(path))} > {disk.unused('.ogg')}`"
        raise BadFileError(path, f"an Ogg begins at its byte {place}", f"{command} takes it")
    if begin.startswith(b"RF64") and begin[12:16] == b"ds64" and not any(begin[20:36]):
        command = f"printf RIFF | dd conv=notrunc of={shlex.quote(str(path))}"
        hint = f"`{command}` lets it be read to its end"
        raise BadFileError(path, "its sizes were never written, as by a recorder cut off", hint)
    if begin.startswith(b"RIFF") and _SLACK < 2 * _promised(begin) < size:
        command = f"`{_to_wav(path, '-ignore_length 1 ')}`"
        fault = f"its header says {_promised(begin)} bytes, and {size} are there"
        raise BadFileError(path, fault, f"{command} reads them all")
    if size + _SLACK < (promised := _promised(begin)) < _OPEN:
        fault = f"truncated: the header promises {promised} bytes, {size} are there"
        raise BadFileError(path, fault, saving(path) if size > _SLACK else "copy it again")
    form = begin.find(b"fmt ")
    if begin.startswith(b"RIFF") and 0 < form < len(begin) - 24:
        channels, block, bits = struct.unpack_from("<H8xHH", begin, form + 10)
        if bits == 24 and block == 4 * channels > 0:  # which libsndfile reads as silence
            hint = "write it anew with 16 bits, or 24 in three bytes"
            raise BadFileError(path, "its samples are 24 bits in four bytes", hint)


def _promised(begin: bytes) -> int:
    """The bytes of a WAV, AIFF, W64, AU or CAF that begins so, by its header; 0 of all else."""
    if begin.startswith((b"RIFF", b"FORM")):
        return int.from_bytes(begin[4:8], "little" if begin.startswith(b"RIFF") else "big") + 8
    if begin.startswith(b"riff\x2e\x91\xcf\x11"):
        return int.from_bytes(begin[16:24], "little")
    if begin.startswith(b".snd"):
        return int.from_bytes(begin[4:8], "big") + int.from_bytes(begin[8:12], "big")
    data = begin.find(b"data") if begin.startswith(b"caff") else -1
    return data + 12 + int.from_bytes(begin[data + 4 : data + 12], "big") if data > 0 else 0


def saving(path: Path) -> str:
    """What to do about a file of which the end is missing."""
    return f"copy it again, or `{_to_wav(path)}` saves what is there, and may print an error"


def _to_wav(path: Path, option: str = "") -> str:
    return f"ffmpeg {option}-i {shlex.quote(str(path))} {disk.unused('.wav')}"


def _hint(path: Path, begin: bytes, unlisted: bool) -> str:
    """What to do about a file that begins so; `unlisted`: libav knows the format, _FORMATS not."""
    if begin[4:8] == b"ftyp":
        return "its index (moov) is missing, as where a recording or a copy broke off"
    known = f"a converter may read it: `{_to_wav(path)}`"
    return bare(path) or (known if unlisted else "")


def bare(path: Path) -> str:
    """How to give a header to what is called as samples without one are; empty of others."""
    if (form := _BARE.get(path.suffix.lower())) is None:
        return ""
    command = _to_wav(path, f"-f {form} -ac 1 ")
    return f"samples without a header get one, with their own rate and format, by `{command}`"


class Decoder:
    """The first track of sound of a file, which is read as a SoundFile is."""

    def __init__(self, path: Path, file: IO[bytes], begin: bytes = b"") -> None:
        """Find the sample rate and the channels; `begin` is for hints. Raises BadFileError."""
        import av  # here, since it takes a moment that most commands need not

        self._path = path
        try:
            self._container = av.open(file, "r", options={"format_whitelist": _FORMATS})
        except av.FFmpegError as error:
            fault = f"cannot be read as sound: of another format, or damaged: {error.strerror}"
            unlisted = isinstance(error, av.ArgumentError)  # else ffmpeg refuses it, too
            raise BadFileError(path, fault, _hint(path, begin, unlisted)) from error
        tracks = [track for track in self._container.streams.audio if track.codec_context]
        if not tracks:
            kinds = "its samples cannot be read: write it anew with 16 bits (of games by vgmstream)"
            fault = kinds if self._container.streams.audio else "it holds no sound track"
            raise BadFileError(path, fault)
        self._track, self.has_more = (track := tracks[0]), len(tracks) > 1
        self.samplerate, self.channels = track.rate, track.channels
        self.frames = 0  # how many there are no header is asked
        self.lost = 0
        """How many packets could not be decoded."""

    def blocks(self, most: int, dtype: str, always_2d: bool) -> Iterator[Frames]:
        """The samples in blocks (n, C), n at `most`. Raises BadFileError."""
        import av

        read, resampler = 0, av.AudioResampler("flt", frame_size=most)
        try:
            for frame in itertools.chain(self._decoded(), [None]):
                for block in resampler.resample(frame):
                    read += block.samples
                    yield block.to_ndarray().reshape(-1, self.channels).astype(dtype, copy=False)
        except (av.FFmpegError, ValueError) as error:
            fault, hint = "its parts differ in sample rate or channels", "make a file of each"
            if isinstance(error, av.FFmpegError) and not isinstance(error, av.PatchWelcomeError):
                why = f"after {read} samples: {error.strerror}"
                fault = f"truncated, damaged or protected (DRM) {why}"
                hint = f"`{_to_wav(self._path)}` writes what can be read" if read else ""
            raise BadFileError(self._path, fault, hint) from error

    def _decoded(self) -> "Iterator[av.AudioFrame]":
        """The frames of the track; between joined MP3s there may be what is no sound."""
        import av

        for packet in self._container.demux(self._track):
            try:
                yield from packet.decode()
            except av.InvalidDataError:
                if self._container.format.name != "mp3":
                    raise
                self.lost += 1
