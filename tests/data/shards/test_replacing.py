"""Shards that are prepared anew: the old ones stay until all of the new ones are whole."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from seqkit.data.shards.index import Index, read_index
from seqkit.data.shards.reading import read_starts
from seqkit.foundation.errors import DataError, OutputError
from tests.conftest import SENTENCE, fill_disk
from tests.data.shards.conftest import Prepare, Small, encoded, read

OTHER = "something else entirely, of fewer letters " * 3


@pytest.fixture
def folder(letters: Path, prepared: Prepare, small: Small, tmp_path: Path) -> Path:
    """Whole shards of a text, fewer than those of the letters."""
    small(40)
    (tmp_path / "other.txt").write_text(OTHER)
    prepared(path=[str(tmp_path / "other.txt")])
    return tmp_path / "shards"


def content(folder: Path) -> dict[Path, bytes]:
    """All files of shards."""
    return {file: file.read_bytes() for file in folder.iterdir() if file.is_file()}


def check(folder: Path, index: Index) -> None:
    """The shards are those of an index, whole, with nothing beside them."""
    assert read_index(folder)[0] == index
    index.stored(folder, np.iinfo(index.dtype).max).check(lambda size: None)
    read_starts(folder, index)
    names = {*(shard.file for shard in index.shards), "index.json", index.starts}
    assert {file.name for file in folder.iterdir()} == names


@pytest.mark.parametrize("at", [0, SENTENCE.index("spain")])
def test_data_that_cannot_be_read_leave_the_old_shards(
    at: int, folder: Path, prepared: Prepare, tmp_path: Path
) -> None:
    before = content(folder)
    bad = tmp_path / "bad.txt"
    bad.write_bytes(SENTENCE[:at].encode() + b"\xff")
    with pytest.raises(DataError, match=f"byte {at} .* is not utf-8"):
        prepared(path=[str(bad)], overwrite=True)
    assert content(folder) == before
    check(folder, read_index(folder)[0])


def test_a_full_disk_leaves_the_old_shards_and_the_same_call_goes_on(
    letters: Path, folder: Path, prepared: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = content(folder)
    with monkeypatch.context() as full:
        fill_disk(full, files=".000005-*.bin.*")
        with pytest.raises(OutputError, match=r"000005-\w+\.bin: no space left"):
            prepared(path=[str(letters)], overwrite=True)
    assert before.items() <= content(folder).items()
    index = read_index(folder)[0]
    assert read(folder, index).decode("latin-1").count("\0") == OTHER.count(" ")
    with pytest.raises(OutputError, match="holds shards: train with"):
        prepared(path=[str(letters)])
    written = {file.name: file.stat().st_mtime_ns for file in folder.glob("*-*.bin")}
    assert len(written) == 5
    whole = prepared(path=[str(letters)], overwrite=True)
    check(folder, whole)
    assert len(whole.shards) > len(index.shards)
    assert written == {name: (folder / name).stat().st_mtime_ns for name in written}


@pytest.mark.parametrize("kind", ["text", "bytes"])
def test_room_for_the_new_shards_is_looked_for_before_the_first_is_written(
    kind: str, letters: Path, folder: Path, prepared: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = {"path": [str(letters)], "kind": kind}
    before, usage = content(folder), shutil.disk_usage
    free = len(encoded(**keys)[0]) - 1
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage(path)._replace(free=free))
    with pytest.raises(OutputError, match=r"shards: it takes [\d.]+ kB, and [\d.]+ kB are free"):
        prepared(overwrite=True, **keys)
    assert before.items() <= content(folder).items()
    free += 1
    check(folder, prepared(overwrite=True, **keys))


def test_what_is_done_of_another_preparation_is_not_mixed_in(
    letters: Path, folder: Path, prepared: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        fill_disk(full, files=".000005-*.bin.*")
        with pytest.raises(OutputError, match="no space left"):
            prepared(path=[str(letters)], overwrite=True)
    check(folder, prepared(path=[str(tmp_path / "other.txt")], overwrite=True))


@pytest.mark.parametrize("index", [None, "", '{"fXrmat": "seqkit shards"}'])
def test_shards_whose_index_is_lost_are_replaced_if_nothing_else_is_there(
    index: str | None, letters: Path, folder: Path, prepared: Prepare, tmp_path: Path
) -> None:
    (folder / "index.json").unlink()
    if index is not None:
        (folder / "index.json").write_text(index)
    (folder / "000099.bin").write_bytes(b"of more shards than the new ones are")
    with pytest.raises(OutputError, match="holds shards: train with"):
        prepared(path=[str(letters)])
    (folder / "mine.txt").write_text("of the user")
    with pytest.raises(OutputError, match=r"holds mine\.txt, which is no shard"):
        prepared(path=[str(letters)], overwrite=True)
    (folder / "mine.txt").unlink()
    before = content(folder)
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    with pytest.raises(DataError, match="not utf-8"):
        prepared(path=[str(tmp_path / "bad.txt")], overwrite=True)
    assert content(folder) == before
    check(folder, prepared(path=[str(letters)], overwrite=True))
