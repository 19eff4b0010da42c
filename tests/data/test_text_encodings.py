"""Encodings and line ends of text: read as asked for, told about, refused where they are others."""

from pathlib import Path

import pytest

from seqkit.data import files
from seqkit.data.codecs import Characters
from seqkit.foundation.errors import DataError
from tests.data.conftest import load

pytestmark = pytest.mark.faults


def test_files_that_are_not_text_are_left_out_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_BLOCK", 4)
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, content in {"a": "aaa", "b": "the bad one: \xfc", "c": "ccc"}.items():
        (folder / name).write_bytes(content.encode("latin-1"))
    refused = r"texts/b: byte 13 \(0xfc\) is not utf-8.*; data\.on_bad_file=skip"
    with pytest.raises(DataError, match=refused):
        load(folder, kind="text")
    skipped = load(folder, kind="text", on_bad_file="skip")
    assert skipped.codec.decode(skipped.whole.symbols) == "aaaccc"
    assert skipped.whole.starts.tolist() == [0, 3]
    assert skipped.codec.to_spec()["vocabulary"] == [ord("a"), ord("c")]
    told = f"1 cannot be read: {folder / 'b'} (byte 13 (0xfc) is not utf-8)"
    assert skipped.notes == (f"2 files of text taken; {told}",)
    assert (skipped.skipped, skipped.unreadable_files) == (0, 1)
    with pytest.raises(DataError, match=refused):  # the cache does not mistake one for the other
        load(folder, given=skipped.codec, unknown="skip")
    with pytest.raises(DataError, match=refused):  # one bad file makes no bytes of a folder of text
        load(folder, kind="auto")
    automatic = load(folder, kind="auto", on_bad_file="skip")
    assert automatic.codec.decode(automatic.whole.symbols) == "aaaccc"
    for name in "ac":
        (folder / name).unlink()
    for codec in (None, skipped.codec):
        with pytest.raises(DataError, match=r"nothing is left to learn from.*texts/b \(byte 13"):
            load(folder, on_bad_file="skip", given=codec)


def test_line_ends_are_characters(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("ä\r\nb\rc\n\r\r\n\n\r".encode())
    kept = load(tmp_path / "a.txt")
    assert kept.codec.decode(kept.whole.symbols) == "ä\r\nb\rc\n\r\r\n\n\r"
    with pytest.raises(DataError, match=r"U\+000D.* at offset 1 .*: `perl -pe"):
        load(tmp_path / "a.txt", Characters.fit(["ä\nbc"]))


@pytest.mark.parametrize("given", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le"])
def test_a_byte_order_mark_is_no_character(given: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("\ufeffa text\n".encode(given.removesuffix("-sig")))
    found = load(tmp_path / "a.txt", encoding=given)
    assert found.codec.decode(found.whole.symbols) == "a text\n"


@pytest.mark.parametrize("given", ["cp1252", "utf-16", "gb18030"])
def test_one_file_of_another_encoding_is_no_reason_to_garble_the_others(
    given: str, tmp_path: Path
) -> None:
    for name, encoding in (("a.txt", "utf-8"), ("b.txt", given)):
        (tmp_path / name).write_bytes("Größe 24\n".encode(encoding, "replace") * 9)
    with pytest.raises(DataError, match=rf"else convert this one: `iconv .*{tmp_path}/b.txt"):
        load(tmp_path)
    with pytest.raises(
        DataError, match=r"a\.txt: not .* looks like text in UTF-8: .*convert all to UTF-8 and"
    ):
        load(tmp_path, encoding=given)


@pytest.mark.parametrize("kind", ["auto", "text"])
@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"caf\xe9 au lait", r"byte 3 \(0xe9\) is not utf-8: .* data\.encoding=cp1252 \(«café au"),
        (b"\x93HDF\1\0", r"save a document as plain text; .* with data\.kind=bytes$"),
    ],
)
def test_what_is_meant_otherwise_is_refused_alone_and_beside_others(
    kind: str, content: bytes, said: str, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    with pytest.raises(DataError, match=said):
        load(tmp_path / "a.txt", kind=kind)
    corpus = load(tmp_path / "a.txt", kind="bytes")
    assert corpus.codec.decode(corpus.whole.symbols) == content
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_bytes(content)
    (folder / "b.txt").write_text("bbb")
    with pytest.raises(DataError, match=said.removesuffix("$") + r".*data\.on_bad_file=skip"):
        load(folder, kind=kind)
    corpus = load(folder, kind=kind, on_bad_file="skip")
    assert corpus.codec.decode(corpus.whole.symbols) == "bbb"
    assert corpus.unreadable_files == 1


def test_one_letter_tells_utf8(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a caf\u00e9")
    with pytest.raises(DataError, match="looks like text in UTF-8"):
        load(tmp_path / "a.txt", encoding="cp1252")


def test_a_row_of_dots_is_no_other_encoding(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(f"目录{'…' * 99}", encoding="utf-16")
    assert len(load(tmp_path / "a.txt", encoding="utf-16").whole) == 101
