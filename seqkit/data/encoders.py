"""Files of text become symbols, read in blocks, so that memory does not grow with the file.

What is no text is named with its place.
"""

import codecs as encodings
import contextlib
import io
import re
import shlex
import unicodedata
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.config import DataConfig
from seqkit.data import codecs, files
from seqkit.data.codecs import Characters, TextCodec, UnknownSymbolError
from seqkit.data.files import SOUND_HINT, BadFileError, Findings, Watch, blocks, head
from seqkit.data.sound import reader
from seqkit.data.sound.decoder import bare
from seqkit.foundation import disk
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.wording import unescaped
from seqkit.symbols import Integers, Symbols, symbol_dtype

UNKNOWN = {
    "skip": ("character", "outside the vocabulary left out"),
    "nearest": ("character", "outside the vocabulary replaced by the nearest"),
}
"""What is told of unknown characters, by `data.unknown`. A codec of one's own does not tell."""
_NULS, _MANY = 0.1, 32  # of all bytes, and in all
_MARK = "\ufeff"  # of the byte order
SINGLE_BYTE = (
    "cp1252", "iso8859-2", "cp1250", "cp1251", "cp1253", "cp1254", "cp1255", "cp1256", "cp1258",
    "koi8-r", "cp437", "cp874", "macintosh",
)  # fmt: skip
"""Encodings of old files, by names that iconv knows, too."""
_OLDER = (*SINGLE_BYTE, "cp037", "cp932", "euc-jp", "cp949", "big5hkscs", "gb18030")
_BEFORE, _SHOWN = 6, 16  # bytes before the first that is another's, and characters, that are shown
_BROKEN = 0.002  # of the characters, at most, of a file that was damaged a little
_TAIL, _KINDS = 64, 8  # bytes, far more than happen to be UTF-8, but for … again and again
_TWO = "two programs wrote it: take it apart, or write it anew with one"
_PAIR = re.compile(rb"\xed[\xa0-\xaf].\xed[\xb0-\xbf]")  # one emoji, as databases write it
RETURNS = r"s/\r+$//; s/\r/\n/g"
"""What perl does about the line ends of Windows and of old Macs."""
_CUT = ("unexpected end of data", "truncated data")  # as Python says of half a character
_ANY_FILE = "a new training reads any file with data.kind=bytes"


def check_encoding(encoding: str) -> None:
    """Raise ConfigError for an encoding that does not exist, or is none of files."""
    try:
        b"\xff".decode(encoding, "replace")  # idna and punycode replace nothing
    except (LookupError, ValueError) as error:
        raise ConfigError(f"data.encoding={encoding}: {error}") from error


def _text_blocks(file: Path, config: DataConfig, count: Watch) -> Iterator[str]:
    """The text of a file, some megabytes at a time, as `_read` gives it; no mark begins it.

    Raises BadFileError: it cannot be read, or is not in this encoding.
    """
    encoding, read = config.encoding, 0
    decoder = encodings.getincrementaldecoder(encoding)()
    ends = io.IncrementalNewlineDecoder(decoder, translate=True) if config.cuts_files else decoder
    try:
        for block in blocks(file, count):
            read += len(block)
            text = ends.decode(block)
            if "\ufffe" in text:  # the mark, read the other way round
                raise BadFileError(file, "its byte order changes within it", _TWO)
            yield text.removeprefix(_MARK) if read == len(block) else text
        yield ends.decode(b"", final=True)
    except UnicodeDecodeError as error:
        # error.object is what the decoder had kept and the newest block: it ends where we read to.
        offset = read - len(error.object) + error.start
        reason = f"byte {offset} (0x{error.object[error.start]:02x}) is not {encoding}"
        hint = _advice(file, encoding) or _of_other(file, encoding, error)
        raise BadFileError(file, reason, hint) from error
    except UnicodeError as error:
        hint = _advice(file, encoding) or _ANY_FILE
        raise BadFileError(file, f"not {encoding} ({error})", hint) from error


def check_plain(file: Path, begin: bytes, encoding: str) -> None:
    """Raise BadFileError for what may happen to be text, too, but is meant to be something else.

    That is sound (silence is text), documents, playlists, and UTF-8, UTF-16, UTF-32 or ISO-2022
    that is read otherwise. `begin` is how the file begins.
    """
    wide = files.wide_encoding(begin)
    is_sound = b"\0" in begin and reader.is_sound(file)
    name = encodings.lookup(encoding).name
    as_told = not wide or name.startswith(encodings.lookup(wide).name) or wide == f"{name}-le"
    if wide.startswith("utf") and _ends_in_utf8(file):
        raise BadFileError(file, f"it begins in {wide.upper()} and ends in UTF-8", _TWO)
    if not wide and files.is_utf8(begin, name):
        raise BadFileError(file, f"not {encoding} text", _encoded(file, "utf-8", encoding))
    if files.meant(begin) or is_sound or not as_told or (not wide and _is_binary(begin)):
        raise BadFileError(file, f"not {encoding} text", _advice(file, encoding))


def _is_binary(begin: bytes) -> bool:
    """Whether a file that begins so has more NULs than a text does."""
    return begin.count(0) > max(_NULS * len(begin), _MANY)


def _ends_in_utf8(file: Path) -> bool:
    """Whether the end of a file is UTF-8, without the NULs that UTF-16 and UTF-32 have."""
    with file.open("rb") as stream:
        stream.seek(-min(_TAIL, stream.seek(0, io.SEEK_END)), io.SEEK_END)
        end = stream.read().lstrip(bytes(range(0x80, 0xC0)))  # a character that was cut
    return b"\0" not in end and len({*end}) > _KINDS and files.is_utf8(end, "utf-16")


def _advice(file: Path, encoding: str) -> str:
    """What to do about a file that is no text in the encoding; empty if that is not known."""
    begin = head(file)
    if what := files.meant(begin):
        return f"it is {what}"
    if wide := files.wide_encoding(begin):
        return _encoded(file, wide, encoding)
    if reader.is_sound(file):
        return f"it is sound: {SOUND_HINT}"
    by_name = bare(file) if file.suffix else ""
    return by_name or (f"many of its bytes are NUL: {_ANY_FILE}" if _is_binary(begin) else "")


def _of_other(file: Path, encoding: str, error: UnicodeDecodeError) -> str:
    """What to do about a byte that is not in the encoding: show how it reads in older ones."""
    content, place, is_cut = error.object, error.start, error.reason in _CUT
    if content[place : place + _TAIL].count(0) > _KINDS:
        return f"UTF-16 or another file begins about there: {_TWO}"
    right = content.decode(encoding, "ignore")
    size = len(right.encode(encoding, "ignore"))
    share = 1 if encodings.lookup(encoding).name.startswith("utf-8") else _BROKEN
    is_most = len(content) - size < share * (size - sum(map(str.isascii, right)))
    if is_cut or is_most or _PAIR.match(content, place):
        why = "it ends within a character" if is_cut else f"most of it is {encoding}"
        return f"{why}: `{_converted(file, encoding, '-c ')}` drops what is not {encoding}"
    begin = content[max(place - _BEFORE, 0) :][: files.HEAD]
    seen = {name: _seen(begin, name) for name in _OLDER if name != encoding}
    read = ", ".join(f"{name} («{text}»)" for name, text in seen.items() if text)
    convert = f"if all files are in it, {_else(file, 'ENCODING', encoding)}"
    hint = f"give the encoding in which it reads right, such as data.encoding={read}, {convert}; "
    return f"{hint if read else ''}save a document as plain text; {_ANY_FILE}"


def _seen(begin: bytes, encoding: str) -> str:
    """How bytes read in an encoding, in a few characters; empty where that is no text."""
    text = begin.decode(encoding, "replace")
    shown, broken = " ".join(text[:_SHOWN].split()), text.count("\ufffd") > _BROKEN * len(text)
    return shown * (shown.isprintable() and "\ufffd" not in shown and not broken)


def _converted(file: Path, encoding: str, option: str = "") -> str:
    """A command that writes a file anew, in UTF-8; the option -c drops what is no character."""
    name = encoding.replace("-le", "le").replace("-be", "be")
    return f"iconv {option}-f {name} -t utf-8 {shlex.quote(str(file))} > {disk.unused('.txt')}"


def rewritten(paths: Sequence[str], change: str) -> str:
    """A command line that writes the only file at some paths, or a folder, anew, bytes by perl."""
    place = shlex.quote(paths[0]) if len(paths) == 1 else "FILE"
    if len(paths) == 1 and (folder := Path(paths[0])).is_dir():
        folder = folder if folder.name not in ("", "..") else folder.resolve()
        new = shlex.quote(disk.unused("", folder.parent))  # beside it, as it may be here
        each = f"find {new} -type f -exec perl -pi -e '{change}' {{}} +"
        return f"`mkdir {new} && cp -r {place}/. {new} && {each}`"
    return f"`perl -pe '{change}' < {place} > {disk.unused('.txt')}`"


def _encoded(file: Path, own: str, encoding: str) -> str:
    """How to read a file that is in its own encoding, which other files may not be in."""
    known, all_files = f"it looks like text in {own.upper()}", f"give data.encoding={own} if all"
    return f"{known}: {all_files} files are in it, {_else(file, own, encoding)}"


def _else(file: Path, own: str, encoding: str) -> str:
    """What to do about a file where others are in another encoding, which was asked for."""
    if encodings.lookup(encoding).name.startswith("utf-8"):
        return f"else convert this one: `{_converted(file, own)}`"
    converted = "" if own == "utf-8" else f", this one by `{_converted(file, own)}`"
    return f"else convert all to UTF-8 and leave data.encoding out{converted}"


def pieces_of(file: Path, kind: str, config: DataConfig, count: Watch) -> Iterator[str | bytes]:
    """The content of a file for a codec of text or bytes; `count` is as for `blocks`.

    Raises BadFileError: it cannot be read.
    """
    return (piece[0][:0].join(piece) for piece in _read(file, kind, config, count))


def encode_text(
    file: Path, codec: TextCodec, config: DataConfig, stream: OutputFile, count: Watch
) -> tuple[Integers, Findings]:
    """Write the symbols of a file.

    Returns:
        How many symbols each of its documents has, (D,), 0 of empty ones. With them what was found
        in it.

    Raises:
        BadFileError: it cannot be read; some of it may be written.
        DataError: a character is outside the vocabulary.
    """
    sizes, findings = array("q"), Findings()  # there may be a hundred million documents
    offset = 0
    for piece in _read(file, codec.kind, config, count):
        symbols, lengths = _encode_documents(str(file), piece, offset, len(sizes), codec, config)
        if sizes:  # the first goes on where the last one stopped
            sizes[-1] += lengths.pop(0)
        sizes.extend(lengths)
        stream.write(np.ascontiguousarray(symbols).data)
        if config.unknown in UNKNOWN and isinstance(codec, Characters):
            text, nearest = "".join(piece), config.unknown == "nearest"
            text = unicodedata.normalize("NFC", text) if nearest else text
            for letter, times in codec.unknown_in(text).items():
                rule = "nearest" if nearest and codec.near(letter) else "skip"
                findings.counts[UNKNOWN[rule]] += times
        offset += sum(map(len, piece))
    if config.cuts_files:
        findings.counts["empty document", "left out"] += sizes[:-1].count(0)  # a last line ends
    return np.frombuffer(sizes, np.int64), findings


def _read(file: Path, kind: str, config: DataConfig, count: Watch) -> Iterator[list[Any]]:
    """The content in pieces, of text or bytes, each a list of documents or parts of one.

    The first of each list goes on with the last one of the list before. Where files are cut, all
    line ends are LF.
    """
    if kind == "bytes":
        return ([block] for block in blocks(file, count))
    text = _text_blocks(file, config, count)
    if not config.cuts_files:
        return ([block] for block in text)
    return split_documents(text, "\n" if config.document == "line" else unescaped(config.document))


def split_documents(blocks: Iterable[str], separator: str) -> Iterator[list[str]]:
    """The documents in blocks of text, which are as they come, with a separator between documents.

    The first of each list goes on with the last one of the list before: no document has to fit into
    memory.
    """
    held = ""
    for block in blocks:
        *whole, last = (held + block).split(separator)
        kept = max(len(last) - len(separator) + 1, 0)  # after which a separator may have begun
        held = last[kept:]
        yield [*whole, last[:kept]]
    yield [held]


def _encode_documents(
    file: str, texts: list[Any], offset: int, before: int, codec: TextCodec, config: DataConfig
) -> tuple[Symbols, list[int]]:
    """The symbols (N,) of some documents of a file, and how many each has.

    They stand at an `offset`, and so many documents `before` them.
    """
    if not config.cuts_files:
        (piece,) = texts
        symbols = _encode(file, piece, offset, codec, config)
        return symbols, [symbols.size]
    if isinstance(codec, Characters) and config.unknown != "nearest":  # all of them at once
        with contextlib.suppress(DataError):
            symbols = _encode(file, "".join(texts), 0, codec, config)
            if symbols.size == sum(map(len, texts)):
                return symbols, [*map(len, texts)]
    encoded = [
        _encode(f"{file}, document {number}", text, 0, codec, config)
        for number, text in enumerate(texts, max(before, 1))
    ]
    return np.concatenate(encoded), [symbols.size for symbols in encoded]


def _encode(
    file: str, piece: str | bytes, offset: int, codec: TextCodec, config: DataConfig
) -> Symbols:
    """The symbols (N,) of a piece that stands at `offset`, checked; `file` is for errors."""
    try:
        with codecs.failures(type(codec), "encode"):
            symbols = np.asarray(codec.encode(piece, config.unknown))
    except UnknownSymbolError as error:
        hint = "see data.unknown=skip or data.unknown=nearest"
        if error.character == "\r":
            hint = f"{rewritten([file], RETURNS)} makes line ends of them"
        unknown = UnknownSymbolError(error.character, offset + error.offset)
        raise DataError(f"{file}: {unknown}: {hint}") from error
    if symbols.size and symbols.dtype.kind not in "iu":
        raise DataError(f"{file}: the codec {codec.name} gave {symbols.dtype} in place of integers")
    if symbols.size and not 0 <= symbols.min() <= symbols.max() < codec.size:
        raise DataError(f"{file}: the codec {codec.name} gave a symbol outside its {codec.size}")
    return symbols.astype(symbol_dtype(codec.size), copy=False)
