"""Texts that were probably meant to be read otherwise are told about, and read as asked."""

from pathlib import Path

import pytest

from seqkit.config import DataConfig
from seqkit.data.shards.prepare import prepare
from seqkit.errors import DataError
from seqkit.plugins import Catalogue
from tests.data.texts import load

pytestmark = pytest.mark.faults


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """A folder of UTF-8 in which one file is Latin-1."""
    (tmp_path / "mixed").mkdir()
    (tmp_path / "mixed" / "a.txt").write_text("tea\n")
    (tmp_path / "mixed" / "l.txt").write_text("café\n", "latin-1")
    (tmp_path / "mixed" / "u.txt").write_text("café\n", "utf-8-sig")
    return tmp_path / "mixed"


def test_the_advice_for_one_file_of_many_says_that_it_holds_for_all(mixed: Path) -> None:
    for path, several in ((mixed, True), (mixed / "l.txt", False)):
        with pytest.raises(DataError, match=r"l\.txt: byte 3 .* data\.encoding=latin-1") as told:
            load(path, mixed.parent / "cache")
        assert ("skip leaves such files out (data.encoding holds for" in str(told.value)) == several


def test_utf_8_that_is_read_as_something_else_is_told_about(mixed: Path) -> None:
    cache = mixed.parent / "cache"
    told = f"1 of 3 files ({mixed / 'u.txt'}) can be read as UTF-8, too, and would then have other"
    for _ in range(2):  # the second time from the cache
        notes = load(mixed, cache, encoding="latin-1").notes
        assert notes[0].startswith(told)
        assert notes[0].endswith("data.encoding=utf-8 data.on_bad_file=skip reads only such files")
    (alone,) = load(mixed / "u.txt", cache, encoding="cp1252").notes
    assert alone.startswith("the file (")
    assert alone.endswith("data.encoding=cp1252: give data.encoding=utf-8")
    assert not load(mixed / "l.txt", cache, encoding="latin-1").notes
    assert not load(mixed / "a.txt", cache, encoding="latin-1").notes
    notices: list[str] = []
    config = DataConfig(path=[str(mixed)], encoding="latin-1")
    shards = mixed.parent / "shards"
    prepare(config, shards, catalogue=Catalogue(), notice=notices.append, processes=1)
    assert any(notice.startswith(told) for notice in notices)


def test_a_character_may_be_cut_where_the_look_ends(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x" + "é" * 200_000)
    assert load(tmp_path / "a.txt", tmp_path / "cache", encoding="latin-1").notes
