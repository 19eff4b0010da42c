"""What the first bytes of a file tell of it."""

import codecs
import gzip

import pytest

from seqkit.data import files


@pytest.mark.parametrize(
    "begin",
    [
        *(b"PK\x03\x04\x14", gzip.compress(b"some text", mtime=0), b"%PDF-1.7\n1 0 obj\n"),
        *(b"PAR1\x15\x04\x15 some text", bytes(257) + b"ustar"),
    ],
)
def test_a_container_is_no_text(begin: bytes) -> None:
    assert not files.is_text(begin, "utf-8")


def test_a_mark_tells_utf_16_and_utf_32() -> None:
    for encoding in ("utf-16", "utf-32"):
        assert files.wide_encoding("some text".encode(encoding)) == encoding
    for encoding in ("utf-8-sig", "utf-16-le"):
        assert files.wide_encoding("some text".encode(encoding)) == ""


def test_text_in_another_encoding_looks_like_text() -> None:
    for begin in ("grün".encode("latin-1"), codecs.BOM_UTF16_BE + b"\0a"):
        assert files.is_text(begin, "utf-8")
    assert not files.is_text(bytes(range(256)), "utf-8")
