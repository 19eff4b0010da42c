"""Files of text, read in blocks and decoded; what is no text is named with its place."""

import codecs
import io
import re
import string
from collections.abc import Callable, Iterator
from pathlib import Path

from seqkit.data import file_type
from seqkit.data.bad_files import SOUND_HINT, BadFileError
from seqkit.data.files import blocks, head
from seqkit.data.sound import reader
from seqkit.foundation.errors import ConfigError

LOOKED_AT = 1 << 18
"""Bytes of a file by which its encoding is judged."""
_BY_LANGUAGE = (
    "by its language: cp1251 or koi8-r (Russian), gb18030 or big5 (Chinese), shift_jis or euc_jp "
    "(Japanese), euc_kr (Korean), cp1253 (Greek), cp1255 (Hebrew), cp1250 (Polish) …"
)
_ASCII = bytes(range(0x80))
_C1 = re.compile(rb"[\x80-\x9f]")  # control characters in Latin-1
_CONTINUING = bytes(range(0x80, 0xC0))  # all but the first byte of a character of UTF-8
_NO_CHANCE = 6
"""So many of them, where no byte breaks the rules of UTF-8, are no chance.

In the West another encoding breaks them with its first é or ł, in GBK, which keeps to them most
often, with four characters of five.
"""
_CUT = "unexpected end of data"  # what Python says of a character that is cut


def check_encoding(encoding: str) -> None:
    """Raise ConfigError for an encoding that does not exist."""
    try:
        info = codecs.lookup(encoding)
    except (LookupError, ValueError):
        info = None
    if info is None or not getattr(info, "_is_text_encoding", True):
        raise ConfigError(
            f"data.encoding={encoding}: no such text encoding; utf-8 and latin-1 are two"
        )


def text_blocks(
    file: Path,
    encoding: str,
    newline: str = "keep",
    count: Callable[[int], None] = lambda size: None,
    begin: int = 0,
    end: int | None = None,
) -> Iterator[str]:
    """The text of a file, some megabytes at a time; with newline=lf its line ends are LF.

    It is read from byte `begin` to before byte `end`, which must not lie within a character.
    `count` is told how many bytes were read of it, each time.

    Raises:
        BadFileError: it cannot be read, or is not in this encoding.
    """
    decoder = codecs.getincrementaldecoder(encoding)()
    ends = io.IncrementalNewlineDecoder(decoder, translate=True) if newline == "lf" else decoder
    read = begin
    try:
        for block in blocks(file, count, begin, end):
            read += len(block)
            yield ends.decode(block)
        yield ends.decode(b"", final=True)
    except UnicodeDecodeError as error:
        raise _undecodable(file, encoding, error, begin, read) from error
    except UnicodeError as error:
        raise BadFileError(file, f"not {encoding} ({error})", _advice(file, encoding)) from error


def _undecodable(
    file: Path, encoding: str, error: UnicodeDecodeError, begin: int, read: int
) -> BadFileError:
    """What is wrong with a file that was read from byte `begin` to before byte `read`."""
    # error.object is what the decoder had kept and the newest block: it ends where we read to.
    offset = read - len(error.object) + error.start
    utf8, size = _is_utf8(encoding), _size(file)
    before = blocks(file, begin=max(begin, offset - LOOKED_AT), end=offset)
    surely = utf8 and _shows_utf8(b"".join(before))
    if utf8 and error.reason == _CUT and read == size and (surely or size - offset > 1):
        reason = f"ends in the middle of a UTF-8 character (byte {offset} of {size})"
        return BadFileError(
            file, reason, f"get the rest of it, or leave that out: head -c {offset} keeps the text"
        )
    advice = _advice(file, encoding, error.object)
    if surely:
        advice = (
            f"the {offset - begin:,} bytes before it are UTF-8, so that something else is in the "
            "file there: mend it, as with iconv -c -f utf-8 -t utf-8, which leaves such bytes out, "
            "or read any file with data.kind=bytes"
        )
    reason = f"byte {offset} (0x{error.object[error.start]:02x}) is not {encoding}"
    return BadFileError(file, reason, advice)


def _size(file: Path) -> int:
    """Bytes. Raises BadFileError."""
    try:
        return file.stat().st_size
    except OSError as error:
        raise BadFileError.of(file, error) from error


def check_text(file: Path, encoding: str) -> None:
    """Raise BadFileError unless the whole of a file can be read as text."""
    for _ in text_blocks(file, encoding):
        pass


def is_text(file: Path, encoding: str) -> bool:
    """Whether the whole of a file can be read as text."""
    try:
        check_text(file, encoding)
    except BadFileError:
        return False
    return True


def check_plain(file: Path, encoding: str) -> None:
    """Raise BadFileError for what may happen to be text, too, but is meant to be something else.

    That is sound (silence is text), documents, archives and pictures, and UTF-16 or UTF-32 that is
    read otherwise.
    """
    begin = head(file)
    if file_type.container(begin):
        raise BadFileError(file, "not text", _advice(file, encoding))
    if b"\0" not in begin:
        return
    if reader.is_sound(file):
        raise BadFileError(file, "sound, not text", SOUND_HINT)
    wide = file_type.wide_encoding(begin)
    if wide and not codecs.lookup(encoding).name.startswith(wide[: len("utf-16")]):
        raise BadFileError(file, f"not {encoding}", _advice(file, encoding))


def encoding_with_mark(encoding: str) -> str:
    """The encoding that leaves a byte order mark out, for one that takes it for a character."""
    name = codecs.lookup(encoding).name
    return "utf-8-sig" if name == "utf-8" else name.removesuffix("-le").removesuffix("-be")


def reads_as_utf8(text: bytes) -> bool:
    """Whether bytes, whose end may cut a character, are UTF-8 that is more than ASCII."""
    try:
        return not codecs.getincrementaldecoder("utf-8")().decode(text).isascii()
    except UnicodeDecodeError:
        return False


def begins_as_utf8(text: bytes) -> bool:
    """Whether bytes are UTF-8 that is more than ASCII up to a byte that is none."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError as error:
        return _shows_utf8(text[: error.start])
    return False


def _is_utf8(encoding: str) -> bool:
    return codecs.lookup(encoding).name.startswith("utf-8")


def _shows_utf8(text: bytes) -> bool:
    """Whether bytes that can be read as UTF-8 hold more of its characters than by chance."""
    return len(text) - len(text.translate(None, _CONTINUING)) >= _NO_CHANCE


def reads_as_windows(text: bytes) -> bool:
    """Whether Windows-1252 has characters where Latin-1 has control characters for these bytes."""
    return bool(_C1.search(text)) and _decodes(text, "cp1252")


def _decodes(text: bytes, encoding: str) -> bool:
    """Whether bytes, whose end may cut a character, are text in an encoding."""
    try:
        codecs.getincrementaldecoder(encoding)().decode(text)
    except UnicodeError:
        return False
    return True


def _advice(file: Path, encoding: str, undecoded: bytes = b"") -> str:
    """What to do about a file that is not in the encoding, as these bytes of it show."""
    begin = head(file)
    if what := file_type.table(begin):
        return f"it is {what}: give data.kind=hf data.path={file} data.column=text"
    if what := file_type.container(begin):
        return f"it is {what}: save its text as plain text, or read it as it is: data.kind=bytes"
    if wide := file_type.wide_encoding(begin):
        return f"it looks like text in {wide[:6].upper()}: give data.encoding={wide}"
    if reader.is_sound(file):
        return f"it is sound; {SOUND_HINT}"
    if b"\0" in begin:
        return "it looks like no text at all: data.kind=bytes reads any file"
    looked_at = undecoded or begin
    utf8 = _decodes(looked_at, "utf-8") or begins_as_utf8(looked_at)
    if utf8 and not _is_utf8(encoding):
        return "it looks like text in UTF-8: give data.encoding=utf-8"
    named = ", as in data.encoding=" + ("cp1252" if reads_as_windows(undecoded) else "latin-1")
    if not _looks_western(begin + undecoded):
        named = f" with data.encoding=NAME, {_BY_LANGUAGE}"
    return f"name its encoding{named}, or read any file with data.kind=bytes"


def _looks_western(text: bytes) -> bool:
    """Whether bytes may be Western European text, in an encoding of one byte a character.

    There a few letters in a hundred are beyond ASCII, in short words a third of them.
    """
    letters = len(text) - len(text.translate(None, string.ascii_letters.encode()))
    return 3 * len(text.translate(None, _ASCII)) <= letters
