"""Files of text, read in blocks and decoded; what is no text is named with its place.

A file of rows holds many short documents: a line of JSON, a string, for each of them.
"""

import codecs
import io
import json
from collections.abc import Callable, Collection, Iterator
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import files
from seqkit.data.files import SOUND_HINT, BadFileError, blocks, head
from seqkit.data.sound import reader
from seqkit.foundation.errors import ConfigError

_CONTINUING = bytes(range(0x80, 0xC0))  # all but the first byte of a character of UTF-8
_NO_CHANCE = 6  # of them, where none breaks the rules of UTF-8; GBK keeps to them most often
_MEND = (
    "what is before it is UTF-8: mend the file, as with iconv -c -f utf-8 -t utf-8, which leaves "
    "such bytes out, or read any file with data.kind=bytes"
)
_TABLES = {".csv", ".json", ".jsonl"}
_ENCODINGS = "cp1252 (Western European), cp1251 (Russian), gb18030 (Chinese) …"


def check_encoding(encoding: str) -> None:
    """Raise ConfigError for an encoding that does not exist."""
    try:
        "".encode(encoding)
    except (LookupError, ValueError) as error:
        raise ConfigError(f"data.encoding={encoding}: {error}") from error


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
        # error.object is what the decoder had kept and the newest block: it ends where we read to.
        offset = read - len(error.object) + error.start
        reason = f"byte {offset} (0x{error.object[error.start]:02x}) is not {encoding}"
        before = error.object[: error.start]
        continuing = len(before) - len(before.translate(None, _CONTINUING))
        is_utf8 = codecs.lookup(encoding).name.startswith("utf-8") and continuing >= _NO_CHANCE
        raise BadFileError(file, reason, _MEND if is_utf8 else _advice(file)) from error
    except UnicodeError as error:
        raise BadFileError(file, f"not {encoding} ({error})", _advice(file)) from error


def check_plain(file: Path, encoding: str) -> None:
    """Raise BadFileError for what may happen to be text, too, but is meant to be something else.

    That is sound (silence is text), documents, archives and pictures, and UTF-16 or UTF-32 that is
    read otherwise.
    """
    begin = head(file)
    wide = files.wide_encoding(begin)
    wide = "" if codecs.lookup(encoding).name.startswith(wide) else wide
    if files.container(file.name, begin) or wide or (b"\0" in begin and reader.is_sound(file)):
        raise BadFileError(file, f"not {encoding} text", _advice(file))


def encoding_with_mark(encoding: str) -> str:
    """The encoding that leaves a byte order mark out, for one that takes it for a character."""
    name = codecs.lookup(encoding).name
    return "utf-8-sig" if name == "utf-8" else name.removesuffix("-le").removesuffix("-be")


def table_hints(files: Collection[Path], config: DataConfig) -> list[str]:
    """What there is to say where all files are CSV or JSON, by their names."""
    endings = {file.suffix.lower() for file in files}
    if config.of_rows or not endings or endings - _TABLES:
        return []
    return [
        f"{' and '.join(sorted(endings))} files are learnt as they are: data.kind=hf "
        "data.column=NAME learns the text of one column"
    ]


def _advice(file: Path) -> str:
    """What to do about a file that is not in the encoding."""
    begin = head(file)
    if what := files.table(file.name, begin):
        return f"it is {what}: give data.kind=hf data.path={file} data.column=text"
    if what := files.container(file.name, begin):
        save = "" if what.endswith("picture") else "save its text as plain text, or "
        return f"it is {what}: {save}read it as it is: data.kind=bytes"
    if wide := files.wide_encoding(begin):
        return f"it looks like text in {wide.upper()}: give data.encoding={wide}"
    if reader.is_sound(file):
        return f"it is sound; {SOUND_HINT}"
    if b"\0" in begin:
        return "it looks like no text at all: data.kind=bytes reads any file"
    return f"give its encoding, data.encoding={_ENCODINGS}, or read any file with data.kind=bytes"


def line_of(document: str) -> bytes:
    """The line of a row; half a surrogate pair becomes a question mark."""
    return json.dumps(document, ensure_ascii=False).encode(errors="replace") + b"\n"


def row_batches(
    file: Path,
    newline: str = "keep",
    count: Callable[[int], None] = lambda size: None,
    begin: int = 0,
    end: int | None = None,
) -> Iterator[list[str]]:
    """The rows of a file, some megabytes at a time; with newline=lf their line ends are LF.

    `begin` and `end`, in bytes, lie between two lines. `count` is told how many bytes were read,
    each time.

    Raises:
        BadFileError: the file cannot be read, or is damaged.
    """
    left = b""
    try:
        for block in blocks(file, count, begin, end):
            whole, ended, left = (left + block).rpartition(b"\n")
            if not ended:
                continue
            rows: list[str] = json.loads(b"[" + whole.replace(b"\n", b",") + b"]")
            if newline == "lf":
                rows = [row.replace("\r\n", "\n").replace("\r", "\n") for row in rows]
            yield rows
        if left:
            raise ValueError("the last line has no end")
    except ValueError as error:
        raise BadFileError(file, "damaged", "remove it, and it is fetched again") from error
