"""What a file holds, as far as its first bytes tell."""

import codecs
import re

HEAD = 1 << 15
"""Bytes that are looked at."""

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_TEXT_BYTES = bytes({*b"\a\b\t\n\v\f\r\x1a\x1b", *range(0x20, 0x7F), *range(0x80, 0x100)})
_HIGH_BYTES = bytes(range(7))  # of UTF-16: NUL for Latin letters, up to 6 for Greek to Arabic
_NO_TEXT = {*map(chr, range(0x20))} - {*"\a\b\t\n\v\f\r\x1a\x1b"} | {"\ufffd"}
_CONTAINERS = {
    b"PK\x03\x04": "a Word document or another zip archive",
    b"%PDF-": "a PDF",
    b"\x1f\x8b": "compressed by gzip",
    b"BZh91AY&SY": "compressed by bzip2",
    b"\xfd7zXZ\0": "compressed by xz",
    b"\x28\xb5\x2f\xfd": "compressed by zstd",
    b"7z\xbc\xaf\x27\x1c": "a 7z archive",
    b"Rar!\x1a\x07": "a RAR archive",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1": "an Office document of before 2007",
    b"SQLite format 3\0": "an SQLite database",
    b"\x89HDF\r\n\x1a\n": "an HDF5 file",
    b"\x89PNG\r\n\x1a\n": "a PNG picture",
    b"\xff\xd8\xff": "a JPEG picture",
    b"GIF87a": "a GIF picture",
    b"GIF89a": "a GIF picture",
}
"""Files that may hold text but are none, by how they begin."""
_TABLES = {b"PAR1": "a Parquet file", b"ARROW1\0\0": "an Arrow file"}
_ARROW_STREAM = re.compile(rb"\xff{4}.{4}\x10\0{3}", re.DOTALL)
_SAVED = {
    "state.json": b'"_fingerprint"',
    "dataset_info.json": b'"citation"',
    "dataset_dict.json": b'"splits"',
}
"""What `save_to_disk` of Hugging Face writes beside its tables, and a word in each file."""
_TAR = slice(257, 262)


def container(begin: bytes) -> str:
    """What a document, archive or picture is, in words; empty if it is none that is known."""
    if begin[_TAR] == b"ustar":
        return "a tar archive"
    if what := table(begin):
        return what
    return next((what for mark, what in _CONTAINERS.items() if begin.startswith(mark)), "")


def table(begin: bytes) -> str:
    """What kind of table, as `data.kind=hf` reads them, a file is; empty if it is none."""
    if _ARROW_STREAM.match(begin):
        return "an Arrow file"
    return next((what for mark, what in _TABLES.items() if begin.startswith(mark)), "")


def is_of_tables(name: str, begin: bytes) -> bool:
    """Whether a file that is called and begins so is a table, or is saved beside tables."""
    if table(begin) or name.lower().endswith(".arrow"):
        return True
    word = _SAVED.get(name.rpartition("/")[2])
    return word is not None and word in begin


def wide_encoding(begin: bytes) -> str:
    """The encoding of text in UTF-16 or UTF-32; empty for all else.

    Without a byte order mark UTF-16 is known where every other byte is NUL, or nearly so.
    """
    if begin.startswith(_UTF32_MARKS):  # the one of little end begins with that of UTF-16
        return "utf-32"
    if begin.startswith(_UTF16_MARKS):
        return "utf-16"
    pairs = len(begin) // 2
    for encoding, place in (("utf-16-le", 1), ("utf-16-be", 0)):
        high = begin[place : 2 * pairs : 2].translate(None, _HIGH_BYTES)
        if 4 * len(high) < pairs:
            text = codecs.getincrementaldecoder(encoding)("replace").decode(begin)
            return "" if _NO_TEXT.intersection(text) else encoding
    return ""


def is_text(begin: bytes, encoding: str) -> bool:
    """Whether a file that begins so looks like text, in this encoding or in another one."""
    if container(begin):
        return False
    try:
        if "\0" not in codecs.getincrementaldecoder(encoding)().decode(begin):
            return True
    except UnicodeError:
        if not begin.translate(None, _TEXT_BYTES):
            return True
    return bool(wide_encoding(begin))
