"""What the first bytes of a file tell of it."""

import codecs
import gzip
import io
import tarfile
import zipfile

import numpy as np
import pytest

from seqkit.data import file_type


def packed() -> dict[str, bytes]:
    """The same text in archives."""
    zipped, tarred = io.BytesIO(), io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("word/document.xml", "<w:t>some text</w:t>")
    with tarfile.open(fileobj=tarred, mode="w") as archive_of_files:
        archive_of_files.addfile(tarfile.TarInfo("a.txt"))
    return {
        "zip": zipped.getvalue(),
        "tar": tarred.getvalue(),
        "gzip": gzip.compress(b"some text"),
        "PNG": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "Parquet": b"PAR1\x15\x04\x15 some text",
        "Arrow": b"ARROW1\0\0\xff\xff\xff\xffp\0\0\0",
        "an Arrow": b"\xff\xff\xff\xff\x88\x0b\0\0\x10\0\0\0\0\0\n\0",
        "PDF": b"%PDF-1.7\n1 0 obj\n",
    }


@pytest.mark.parametrize("what", packed())
def test_a_container_is_known(what: str) -> None:
    assert what in file_type.container(packed()[what])
    assert not file_type.is_text(packed()[what], "utf-8")


@pytest.mark.parametrize(
    "text", ["some text\n", "Ein Käse für 3 €\n", "Привет, мир!\n", "αβγ δεζ\n"]
)
def test_utf_16_is_known_without_a_mark(text: str) -> None:
    for encoding in ("utf-16-le", "utf-16-be"):
        assert file_type.wide_encoding((text * 9).encode(encoding)) == encoding
        assert file_type.is_text((text * 9).encode(encoding), "utf-8")
    for encoding in ("utf-16", "utf-32"):  # with one
        assert file_type.wide_encoding(text.encode(encoding)) == encoding
    for encoding in ("utf-8", "utf-8-sig"):
        assert file_type.wide_encoding(text.encode(encoding)) == ""


def test_numbers_are_not_taken_for_utf_16() -> None:
    small = np.random.default_rng(0).integers(-40, 40, 9999)
    for kind in ("<i2", ">i2", "<i4", "<f4", "u1"):
        assert file_type.wide_encoding(small.astype(kind).tobytes()) == ""
    assert file_type.wide_encoding(bytes(1000)) == ""
    assert file_type.wide_encoding(b"") == ""
    assert file_type.wide_encoding(b"a NUL \0 in a text") == ""


def test_text_in_another_encoding_looks_like_text() -> None:
    for begin in ("grün".encode("latin-1"), codecs.BOM_UTF16_BE + b"\0a"):
        assert file_type.is_text(begin, "utf-8")
    assert not file_type.is_text(bytes(range(256)), "utf-8")
