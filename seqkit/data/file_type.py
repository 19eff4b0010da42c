"""What a file holds, as far as its first bytes tell."""

import codecs

HEAD = 1 << 15
"""Bytes that are looked at."""

_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_UTF32_MARKS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE)
_TEXT_BYTES = bytes({*b"\a\b\t\n\v\f\r\x1a\x1b", *range(0x20, 0x7F), *range(0x80, 0x100)})
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
_TAR = slice(257, 262)


def container(name: str, begin: bytes) -> str:
    """What a document, archive or picture is, in words; empty if it is none that is known.

    `name` is what the file is called, `begin` how it begins.
    """
    if begin[_TAR] == b"ustar":
        return "a tar archive"
    if what := table(name, begin):
        return what
    return next((what for mark, what in _CONTAINERS.items() if begin.startswith(mark)), "")


def table(name: str, begin: bytes) -> str:
    """What kind of table, as `data.kind=hf` reads them, a file is; empty if it is none."""
    if name.lower().endswith(".arrow") or begin.startswith(b"ARROW1\0\0"):
        return "an Arrow file"
    return "a Parquet file" if begin.startswith(b"PAR1") else ""


def wide_encoding(begin: bytes) -> str:
    """The encoding of text that begins with a mark of UTF-16 or UTF-32; empty for all else."""
    if begin.startswith(_UTF32_MARKS):  # the one of little end begins with that of UTF-16
        return "utf-32"
    return "utf-16" if begin.startswith(_UTF16_MARKS) else ""


def is_text(begin: bytes, encoding: str) -> bool:
    """Whether a file that begins so looks like text, in this encoding or in another one."""
    if container("", begin):
        return False
    try:
        if "\0" not in codecs.getincrementaldecoder(encoding)().decode(begin):
            return True
    except UnicodeError:
        if not begin.translate(None, _TEXT_BYTES):
            return True
    return bool(wide_encoding(begin))
