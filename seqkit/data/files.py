"""Files: what they hold, what the first bytes and the status tell, and which cannot be read.

Standard input is read once, to its end, into a file of the cache.
"""

import codecs
import difflib
import hashlib
import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seqkit.data.codecs import Codec
from seqkit.foundation import disk
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.wording import counted, first_of

STDIN = {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}
"""The names of standard input among paths."""
HEAD = 1 << 15
"""Bytes that are looked at to tell what a file holds."""
SOUND_HINT = "sound is for a checkpoint of sound, or recipe=my_sound"
TEXT_HINT = "text is for a checkpoint of text, or recipe=shakespeare"
Watch = Callable[[int], None]
"""Told how many bytes were read, each time."""

_BLOCK = 1 << 22  # bytes
_STDIN_BLOCK = 1 << 20  # bytes, as much as a pipe holds
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_TEXT_BYTES = bytes({*b"\a\b\t\n\v\f\r\x1a\x1b", *range(0x20, 0x7F), *range(0x80, 0x100)})
_ANNEX = "a pointer of git-annex: `git annex get` fetches the file itself"
_KINDLE = "a book for a Kindle: `ebook-convert` of Calibre makes text of one that is not protected"
_ERROR = "an error of the server that it is from: download it again"
_BEGINNINGS = {
    "a playlist: give data.path=FILE of each recording, or a folder": (b"#EXTM3U", b"[playlist]"),
    "a pointer of Git LFS: `git lfs pull` fetches the file itself": (b"version https://git-lfs",),
    _ANNEX: (b"/annex/objects/",),
    "a document: save its text as plain text": (b"%PDF-", b"{\\rtf", b"%!PS", b"\xd0\xcf\x11\xe0"),
    "a packed file, or a document: unpack it, or save its text as plain text": (
        *(b"PK\3\4", b"\x1f\x8b", b"\xfd7zXZ", b"BZh91AY", b"7z\xbc\xaf"),
        *(b"Rar!\x1a", b"\x28\xb5\x2f\xfd", b"\4\x22\x4d\x18"),  # and Zstandard, LZ4
    ),
    "an array: soundfile.write makes a WAV of it": (b"\x93NUMPY", b"MATLAB 5.0"),
    "a property list of a Mac, or the note of a file in the cloud: download that": (b"bplist00",),
    _KINDLE: (b"\xeaDRMION", b"CONT\2"),
    "a shortcut: give the file that it leads to": (b"L\0\0\0\1\x14\2\0",),
    "a link to a document of Google: download it as plain text": (
        *(b'{"":"WARNING! DO NOT EDIT', b'{"doc_id"', b'{"url": "https://docs.google.com'),
    ),
    "a picture": (b"\xff\xd8\xff", b"\x89PNG", b"GIF8"),
    "a file of another program: save its text as plain text, or export its sound": (
        *(b"SQLite format 3", b"PAR1", b"\0\0\0\1Bud1"),
    ),
    "what a Mac keeps beside a file: the file itself has no ._ in its name": (b"\0\5\x16\7",),
    "a recording in SILK (of WeChat or QQ) or DS2, which FFmpeg cannot read: make a WAV of it": (
        *(b"\2#!SILK", b"#!SILK", b"\3ds2", b"\7ds2"),
    ),
    "notes of MIDI: a synthesiser plays them, and its sound can be learnt": (b"MThd",),
}
"""How files begin that may pass for text or sound and are neither, and what to do with them."""
_SERVER = re.compile(
    rb"(<\?xml[^>]*>\s*)?<Error>\s*<Code>|[45]\d\d: [A-Z][A-Za-z ]+\s*\Z|"
    rb"(<!doctype html[^>]*>\s*)?<html[^>]*>\s*<head[^>]*>.{,200}?"
    rb"<title>\s*([45]\d\d\b|Google Drive)",
    re.IGNORECASE | re.DOTALL,
)
_PAGE = 1 << 12  # bytes of what a server says in place of a file, at most
_MARK = codecs.BOM_UTF8
_ESCAPES = re.compile(rb"\x1b\$(?:[@B]|(\)C))")  # of ISO-2022: of Japanese, or of Korean
_HIGH = bytes({*range(0x20)} - {*b"\t\n\r"})  # of UTF-16 in most alphabets, and of no text's bytes
_MOST, _FEW = 0.8, 8  # of every second byte of UTF-16, and in all


class BadFileError(DataError):
    """A file that is damaged or of no use; `reason` does not repeat the file's name."""

    def __init__(self, file: Path, reason: str, hint: str = "") -> None:
        """`hint` says what to do about it."""
        super().__init__(file, reason, hint)  # from which another process makes it again
        self.file = file
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}{': ' if self.hint else ''}{self.hint}"

    @classmethod
    def of(cls, file: Path, error: OSError) -> "BadFileError":
        """One that the operating system does not let us read."""
        hint = _meant(file) if isinstance(error, FileNotFoundError) else ""
        return cls(file, f"cannot be read: {disk.describe(error)}", hint)

    def refusal(self) -> DataError:
        """The error that ends the reading, with a hint at how to go on without the file."""
        return DataError(f"{self}; data.on_bad_file=skip leaves such files out")


def _meant(path: Path) -> str:
    """What to give in place of a path that is not there; empty if nothing is near."""
    if {*"*?[,"} & {*str(path)}:
        each = "of several files give data.path for each, or their folder and data.pattern"
        return f"{each}; a path is one file's or folder's, commas and quotes in it included"
    if path.is_symlink():
        target = str(path.readlink())
        return f"a link to {target}{f': {_ANNEX}' if '/annex/' in target else ''}"
    names = [file.name for file in sorted(path.parent.glob("*")) if file != path]
    near = difflib.get_close_matches(path.name, names, 1, 0.75)
    return f"did you mean {path.with_name(near[0])}?" if near else ""


def head(file: Path) -> bytes:
    """The first bytes of a file, which tell what it holds. Raises BadFileError."""
    try:
        with file.open("rb") as stream:
            return stream.read(HEAD)
    except OSError as error:
        raise BadFileError.of(file, error) from error


def blocks(file: Path, count: Watch = lambda size: None) -> Iterator[bytes]:
    """The bytes of a file, some megabytes at a time; `count` is told of each block's size.

    Raises BadFileError: it cannot be read.
    """
    try:
        with file.open("rb") as stream:
            while block := stream.read(_BLOCK):
                count(len(block))
                yield block
    except OSError as error:
        raise BadFileError.of(file, error) from error


def stamp(file: Path) -> list[int]:
    """Identifies one version of a file: its size and two times in ns.

    `cp -p` and rsync put the first time back (mtime). The second, of the last change of any kind
    (ctime), no program can. The inode tells nothing: a bucket that is mounted anew gives another.

    Raises BadFileError: it cannot be looked at.
    """
    try:
        status = file.stat()
    except OSError as error:
        raise BadFileError.of(file, error) from error
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns]


def digest_of(file: Path, count: Watch) -> str:
    """The sha256 of a file's content. Raises BadFileError; `count` is as for `blocks`."""
    digest = hashlib.sha256()
    for block in blocks(file, count):
        digest.update(block)
    return digest.hexdigest()


def meant(begin: bytes) -> str:
    """What a file that begins so is, if not text, and what to do; empty if that is not known."""
    begin = begin.removeprefix(_MARK)
    begin = begin.lstrip() or begin
    if len(begin) < _PAGE and _SERVER.match(begin):
        return _ERROR
    if begin[8:12] == b"CDDA":
        return "a pointer to a track of a CD: rip the track"
    if begin[257:262] == b"ustar":
        return "an archive: unpack it with tar -xf"
    if begin[60:68] == b"BOOKMOBI":
        return _KINDLE
    if b"WebMainResource" in begin:
        return "a page that Safari saved: save it as text"
    return next((what for what, starts in _BEGINNINGS.items() if begin.startswith(starts)), "")


def wide_encoding(begin: bytes) -> str:
    """The encoding of text in UTF-16, UTF-32 or ISO-2022; empty for all else.

    It begins with a mark; or it switches to Japanese or Korean; or of every four bytes two are NUL;
    or every second byte, or nearly, is one that text in other encodings has not, as the NULs of
    Latin letters in UTF-16.
    """
    if begin.startswith(_UTF32_MARKS):  # the one of little end begins with that of UTF-16
        return "utf-32"
    if begin.startswith(_UTF16_MARKS):
        return "utf-16"
    if (escape := _ESCAPES.search(begin)) and begin.isascii():
        return "iso-2022-kr" if escape[1] else "iso-2022-jp"
    for first, next_, encoding in ((3, 2, "utf-32-le"), (0, 1, "utf-32-be")):
        high, low = begin[first::4] + begin[next_::4], begin[3 - first :: 4]
        if 0 not in low and high.count(0) > max(_MOST * len(high), _FEW):
            return encoding
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        high, low = begin[first::2], begin[1 - first :: 2]
        if 0 not in low and len(high) - len(high.translate(None, _HIGH)) > max(
            _MOST * len(high), _FEW
        ):
            return encoding
    return ""


def is_utf8(begin: bytes, name: str) -> bool:
    """Whether a file that begins so is UTF-8, and the encoding of this name would garble it."""
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(begin)
    except UnicodeError:
        return False
    if name.startswith(("utf-16", "utf-32")):  # to others ASCII is the same
        return True
    if name.startswith(("utf-8", "ascii")):
        return False
    single = len(bytes(range(0x80, 0x100)).decode(name, "replace")) == 0x80
    return len(begin) - len(text) > (0 if single else _FEW)  # pairs of bytes may happen to be UTF-8


def is_text(begin: bytes, encoding: str) -> bool:
    """Whether a file that begins so looks like text, in this encoding or in another one."""
    try:
        if "\0" not in codecs.getincrementaldecoder(encoding)().decode(begin):
            return True
    except UnicodeError:
        if not begin.translate(None, _TEXT_BYTES):
            return True
    return bool(wide_encoding(begin))


@dataclass
class Findings:
    """Of any files, which go by their names.

    left_out: the recordings that hold nothing to learn from, and why.
    counts: how often else something was found: a noun, which may be empty, and what is said of it.
    odd: which recordings are not as one expects, by what is said of them.
    """

    left_out: dict[str, str] = field(default_factory=dict)
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    odd: dict[str, list[str]] = field(default_factory=dict)

    def notes(self, files: Mapping[str, Path], codec: Codec) -> list[str]:
        """What the user is told about these files, by their names."""
        parts = [
            f"{counted(count, noun) if noun else count} {said}"
            for (noun, said), count in self.counts.items()
        ]
        if codec.kind != "audio":
            return parts
        for why in dict.fromkeys(self.left_out.values()):
            those = [files[name] for name, reason in self.left_out.items() if reason == why]
            parts.append(f"{len(those)} left out ({why}): {first_of(those)}")
        told = f"{len(files) - len(self.left_out)} of {counted(len(files), 'file')} of sound read"
        return ["; ".join([told, *parts])] if parts else []


def on_disk(paths: Sequence[str], notice: Notice, progress: Progress = unseen) -> list[str]:
    """The paths, with a file of the cache in the place of standard input.

    Raises:
        ConfigError: a path is a URL.
        DataError: standard input is empty or closed.
        OutputError: the cache cannot be written.
    """
    for path in paths:
        if "://" in path and not os.path.lexists(path):
            raise ConfigError(f"{path}: download it, or write it to standard input, data.path=-")
    kept = keep("stdin", stdin_blocks(), notice, progress) if STDIN & {*paths} else ""
    return [kept if path in STDIN else path for path in paths]


def stdin_blocks() -> Iterator[bytes]:
    """The bytes of standard input as they come. Raises DataError where it is empty or closed."""
    try:
        with open(0, "rb", buffering=0, closefd=False) as stream:
            mode = os.fstat(0).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):  # /dev/zero has no end
                raise DataError("stdin is a terminal or a device: write to it through a pipe")
            block = stream.read(_STDIN_BLOCK)
            if not block:
                raise DataError("stdin: empty: nothing was written to it")
            while block:
                yield block
                block = stream.read(_STDIN_BLOCK)
    except OSError as error:
        raise DataError(f"stdin: cannot be read: {disk.describe(error)}") from error


def keep(name: str, pieces: Iterable[bytes], notice: Notice, progress: Progress = unseen) -> str:
    """Write what can be read once to a file of the cache, called so: its path. Raises OutputError.

    `notice` is told.
    """
    streams = (disk.cache_dir() / "streams").absolute()
    notice(f"reading {name}")
    digest, size = hashlib.sha256(), 0
    with disk.scratch(streams / name) as (file, temporary):
        with progress(f"reading {name}", unit="B") as bar:
            for block in pieces:
                size += file.write(block)
                digest.update(block)
                bar.add(len(block))
        file.sync()
        kept = streams / digest.hexdigest() / name
        if not kept.exists():  # read again, it stays the file that was encoded
            disk.make_folder(kept.parent)
            disk.rename(temporary, kept)
    notice(f"{name}: {size:,} bytes read, and kept as {kept}")
    return str(kept)
