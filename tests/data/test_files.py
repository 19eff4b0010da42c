"""What the first bytes of a file tell of it."""

import codecs
import gzip
import io
import tarfile
import zipfile

import pytest

from seqkit.data import files


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
        "PDF": b"%PDF-1.7\n1 0 obj\n",
    }


@pytest.mark.parametrize("what", packed())
def test_a_container_is_known(what: str) -> None:
    assert what in files.container("a", packed()[what])
    assert not files.is_text(packed()[what], "utf-8")


def test_a_mark_tells_utf_16_and_utf_32() -> None:
    for encoding in ("utf-16", "utf-32"):
        assert files.wide_encoding("some text".encode(encoding)) == encoding
    for encoding in ("utf-8-sig", "utf-16-le"):
        assert files.wide_encoding("some text".encode(encoding)) == ""


def test_text_in_another_encoding_looks_like_text() -> None:
    for begin in ("grün".encode("latin-1"), codecs.BOM_UTF16_BE + b"\0a"):
        assert files.is_text(begin, "utf-8")
    assert not files.is_text(bytes(range(256)), "utf-8")
