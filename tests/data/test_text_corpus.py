"""Text files: read to the letter, refused with the place of the fault, cached by content."""

from pathlib import Path

import pytest

from seqkit.data.codecs import Characters
from seqkit.data.corpus import Corpus
from seqkit.foundation.errors import DataError
from tests.data.conftest import load

pytestmark = pytest.mark.faults

ODD = "\ufeffA\r\nB\rC\x00 \U0001f600\u2028\n"


def test_a_file_comes_back_letter_for_letter(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(ODD.encode())
    corpus = load(tmp_path / "a.txt", kind="text")
    assert corpus.codec.decode(corpus.whole.symbols) == ODD[1:]  # no mark of the byte order
    assert corpus.whole.starts.tolist() == [0]


def test_a_folder_is_one_document_a_file(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "deep").mkdir(parents=True)
    (folder / "b.txt").write_text("bbb")
    (folder / "a.txt").write_text("aa")
    (folder / "deep" / "c.txt").write_text("c")
    (folder / "empty.txt").write_text("")
    (folder / "notes.bin").write_text("not\0this")
    corpus = load(folder)
    assert corpus.codec.decode(corpus.whole.symbols) == "aabbbc"
    assert corpus.whole.starts.tolist() == [0, 2, 5]


def test_any_file_can_be_read_as_bytes(tmp_path: Path) -> None:
    data = bytes(range(256)) * 2
    (tmp_path / "a.bin").write_bytes(data)
    corpus = load(tmp_path / "a.bin", kind="bytes")
    assert corpus.codec.decode(corpus.whole.symbols) == data
    with pytest.raises(DataError, match=r"reads any file with data\.kind=bytes"):
        load(tmp_path / "a.bin", kind="auto")


def test_a_given_codec_is_kept_and_unknown_characters_follow_the_rule(tmp_path: Path) -> None:
    codec = Characters.fit(["abc\n"])
    path = tmp_path / "a.txt"
    path.write_text("abxcX\n")

    def given(unknown: str) -> Corpus:
        return load(path, codec, kind="auto", unknown=unknown)

    with pytest.raises(DataError, match=r"'x'.*offset 2.*data\.unknown"):
        given("error")
    skipping = given("skip")
    assert (codec.decode(skipping.whole.symbols), skipping.skipped) == ("abc\n", 2)
    assert skipping.notes == ("2 characters outside the vocabulary left out",)
    nearest = given("nearest")
    assert (codec.decode(nearest.whole.symbols), nearest.skipped) == ("abc\n", 2)
    path.write_text("ábxcX\n")
    replaced, left = (f"{n} outside the vocabulary" for n in ("1 character", "2 characters"))
    told = {f"{replaced} replaced by the nearest", f"{left} left out"}
    assert {*given("nearest").notes} == told


def test_a_changed_file_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for content in ("abc" * 50, "abd" * 50):  # the same size, and perhaps the same time stamp
        path.write_text(content)
        corpus = load(path)
        assert corpus.codec.decode(corpus.whole.symbols) == content
