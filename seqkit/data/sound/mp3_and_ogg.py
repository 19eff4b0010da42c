"""The streams of MP3 and Ogg files, of which libsndfile reads the first and no other.

It guesses the length of an MP3 from the sizes of the file and of its first frame, and reads no
further. So pages and frames are found here by their headers (RFC 3533, ISO/IEC 11172-3), and a
stream without a Xing header, which would give its length, is said to be far longer than it is.
"""

import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import IO, NamedTuple

from seqkit.data.files import BadFileError

_BLOCK = 1 << 16  # bytes that are searched at a time
_UNKNOWN = 1 << 48  # bytes
_TAG = 128  # bytes of a tag (ID3v1), which libsndfile looks for at the end
_PAGE, _XING = 27, 60  # bytes at the beginning of a page, and of a frame that say how long it is
_SYNC = re.compile(b"\xff[\xe2-\xff]")
_LAYER_2 = re.compile(rb"(\xff[\xf4\xf5\xfc\xfd]).{20,1800}\1", re.DOTALL)
_MPEG_1, _LAYER_3, _MONO = 3, 1, 3  # as a frame's header has them
_HERTZ, _HALVINGS = (44100, 48000, 32000), (2, 0, 1, 0)  # the latter by version
_KILOBITS = (8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)  # a second, of MPEG 2
_KILOBITS_1 = (32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)  # of MPEG 1


class Stream:
    """A part of a file as a file of its own, as soundfile reads it.

    error: why it could not be read further; to soundfile it ended there.
    """

    def __init__(self, file: IO[bytes], begin: int, end: int, size: int) -> None:
        """From `begin` to before `end`; `size` is what soundfile is told instead."""
        self._file, self._begin, self._end, self._size = file, begin, end, size
        self._place = 0
        self.error: OSError | None = None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place, which is returned."""
        self._place = max(offset + (0, self._place, self._size)[whence], 0)
        return self._place

    def tell(self) -> int:
        """The place from which it is read next."""
        return self._place

    def read(self, size: int) -> bytes:
        """At most `size` bytes; zeros where a tag would stand if it were as large as is told."""
        begin, data = self._begin + self._place, b""
        try:
            if begin < self._end:
                data = _read(self._file, begin, min(size, self._end - begin))
            elif self._place >= self._size - _TAG:
                data = bytes(max(min(size, self._size - self._place), 0))
        except OSError as error:  # soundfile would print it
            self.error = error
        self._place += len(data)
        return data


def streams(path: Path, file: IO[bytes]) -> Iterator[Stream]:
    """The streams of an MP3 or Ogg file; none of another, or where no frames are found.

    Raises:
        BadFileError: it ends within a frame or a page, or has fewer frames than a header says.
        OSError: it cannot be read.
    """
    size, begin = file.seek(0, os.SEEK_END), after_tags(file, 0)
    name = _read(file, begin, 4)
    if name == b"OggS":
        yield from _of_ogg(path, file, begin, size)
    elif _frame(file, begin).size or (path.suffix.lower() == ".mp3" and name != b"fLaC"):
        yield from _of_mp3(path, file, begin, size)
    elif _LAYER_2.match(_read(file, begin, _BLOCK)):
        yield Stream(file, begin, size, _UNKNOWN)


def _of_ogg(path: Path, file: IO[bytes], begin: int, size: int) -> Iterator[Stream]:
    """Those that follow one another; of interleaved ones the first pages stand side by side."""
    end, is_first = begin, True
    while (page := _read(file, end, _PAGE + 255)).startswith(b"OggS"):
        page = page.ljust(_PAGE, b"\xff")
        was_first, is_first = is_first, bool(page[5] & 2)
        if is_first and not was_first:
            yield Stream(file, begin, end, end - begin)
            begin = end
        end += _PAGE + page[26] + sum(page[_PAGE : _PAGE + page[26]])
        if end > size:
            raise _truncated(path, "it ends within a page")
    yield Stream(file, begin, size, size - begin)


class _Frame(NamedTuple):
    """A frame of an MP3, by how it begins; of no size if it is none."""

    kind: int = 0  # version, sample rate and whether it is mono, the same throughout a stream
    size: int = 0  # bytes
    promised: int = 0  # frames that follow, by a Xing header that stands in place of sound
    length: int = 0  # bytes of these and itself, by that header; 0 if it does not say


def _frame(file: IO[bytes], place: int) -> _Frame:
    head = _read(file, place, _XING)
    word = int.from_bytes(head[:4], "big")
    version, bits, rate = word >> 19 & 3, word >> 12 & 15, word >> 10 & 3
    is_known = word >> 21 == 0x7FF and version != 1 and word >> 17 & 3 == _LAYER_3
    if not is_known or bits in (0, 15) or rate == 3:
        return _Frame()
    kilobits, samples = (_KILOBITS_1, 1152) if version == _MPEG_1 else (_KILOBITS, 576)
    size = samples * 125 * kilobits[bits - 1] // (_HERTZ[rate] >> _HALVINGS[version])
    kind = word & 0xFFFE0C00 | (word >> 6 & 3 == _MONO)
    xing = head.replace(b"Info", b"Xing").partition(b"Xing")[2].ljust(12, b"\0")
    promised, length = (int.from_bytes(xing[at : at + 4], "big") for at in (4, 8))
    has_count, has_size = xing[3] & 1, xing[3] & 3 == 3
    return _Frame(kind, size + (word >> 9 & 1), has_count and promised, has_size and length)


def _of_mp3(path: Path, file: IO[bytes], end: int, size: int) -> Iterator[Stream]:
    """Frames without a gap; a Xing header begins a stream, and the last of its frames ends it."""
    while (begin := _next_frame(file, after_tags(file, end), size)) < size:
        first = _frame(file, begin)
        end = begin + first.length
        if not first.length or size - end not in (0, _TAG):
            end, missing = begin + first.size, first.promised or size
            while missing and (frame := _frame(file, end)).kind == first.kind:
                if frame.promised:
                    break
                end, missing = end + frame.size, missing - 1
                if end > size:
                    raise _truncated(path, "it ends within a frame")
            if first.promised and missing > 1:  # some headers count themselves
                raise _truncated(path, f"its header promises {missing} more frames")
        yield Stream(file, begin, end, first.length if first.promised else _UNKNOWN)


def _truncated(path: Path, fault: str) -> BadFileError:
    hint = f"{wav_command(path)} makes a whole file of what is there, to keep in place of this one"
    return BadFileError(path, f"truncated: {fault}", hint)


def wav_command(path: Path) -> str:
    """The command that makes a WAV of a file of sound."""
    file = shlex.quote(str(path))
    return f"ffmpeg -i {file} {file}.wav"


def after_tags(file: IO[bytes], place: int) -> int:
    """The place after tags (ID3v2) that begin at a place."""
    while (head := _read(file, place, 10)).startswith(b"ID3") and len(head) == 10:
        size = (head[6] << 21) + (head[7] << 14) + (head[8] << 7) + head[9]
        place += 10 + size + 10 * (head[5] >> 4 & 1)
    return place


def _next_frame(file: IO[bytes], place: int, size: int) -> int:
    """The first place, from one on, of a frame that another or the end follows; `size` for none."""
    while block := _read(file, place, _BLOCK):
        for sync in _SYNC.finditer(block):
            begin = place + sync.start()
            frame = _frame(file, begin)
            after = begin + frame.size
            if frame.size and (after == size or _frame(file, after).kind == frame.kind):
                return begin
        place += max(len(block) - 1, 1)  # the next may begin with the last byte
    return size


def _read(file: IO[bytes], place: int, size: int) -> bytes:
    file.seek(place)
    return file.read(size)
