"""Sound as FFmpeg's libraries decode it, which come with the package av."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from seqkit.data.files import BadFileError
from seqkit.data.sound import Frames

if TYPE_CHECKING:
    import av

_FORMATS = (
    "aac,ac3,aiff,amr,asf,au,avi,caf,eac3,flac,loas,matroska,mov,mp3,mpeg,mpegts,ogg,tta,voc,w64,"
    "wav,wv"
)
"""Of FFmpeg's demuxers those that read one file; those of playlists would open others."""
_PROMISING = ("mov", "matroska")
"""Formats whose header says how long a track is; for others it may be an estimate."""


class Decoder:
    """The first track of sound of a file, which is read as a SoundFile is."""

    def __init__(self, path: Path, file: IO[bytes]) -> None:
        """Find the sample rate, the channels, and the frames by the header. Raises BadFileError."""
        import av  # here, since it takes a moment that most commands need not

        self._path = path
        try:
            self._container = av.open(file, "r", options={"format_whitelist": _FORMATS})
        except av.FFmpegError as error:
            fault = f"cannot be read as sound, or its end is missing: {error.strerror}"
            raise BadFileError(path, fault) from error
        if not self._container.streams.audio:
            raise BadFileError(path, "it holds no sound track")
        self._track = track = self._container.streams.audio[0]
        self.samplerate, self.channels = track.rate, track.channels
        seconds = float((track.duration or 0) * (track.time_base or 0))
        if not seconds and len(self._container.streams) == 1:
            seconds = (self._container.duration or 0) / av.time_base
        is_promised = self._container.format.name.startswith(_PROMISING)
        self.frames = round(seconds * track.rate) if is_promised else 0

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
