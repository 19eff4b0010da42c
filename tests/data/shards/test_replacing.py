"""Shards that are prepared anew: the old ones stay until all of the new ones are whole."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from seqkit.data.shards import journal, starts
from seqkit.data.shards.index import Index, read_index
from seqkit.foundation import disk
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
    starts.read(folder, index)
    names = {*(shard.file for shard in index.shards), "index.json", "starts.int64"}
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
        fill_disk(full, files=".000005.bin.*")
        with pytest.raises(OutputError, match=r"next/000005\.bin: no space left"):
            prepared(path=[str(letters)], overwrite=True)
    assert before.items() <= content(folder).items()
    index = read_index(folder)[0]
    assert read(folder, index).decode("latin-1").count("\0") == OTHER.count(" ")
    with pytest.raises(OutputError, match="holds shards: train with"):
        prepared(path=[str(letters)])
    written = {file.name: file.stat().st_mtime_ns for file in (folder / "next").glob("*.bin")}
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
    with pytest.raises(OutputError, match=r"next: it takes [\d.]+ kB, and [\d.]+ kB are free"):
        prepared(overwrite=True, **keys)
    assert before.items() <= content(folder).items()
    assert not [*(folder / "next").iterdir()]
    free += 1
    check(folder, prepared(overwrite=True, **keys))


@pytest.mark.parametrize("overwrite", [True, False])
def test_new_shards_that_are_whole_take_their_place_however_often_that_fails(
    overwrite: bool,
    letters: Path,
    folder: Path,
    prepared: Prepare,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keys = {"path": [str(letters)]}
    with monkeypatch.context() as patch:
        failing(patch, 3)
        for again in (True, overwrite, overwrite):
            with pytest.raises(OutputError, match="killed"):
                prepared(overwrite=again, **keys)
            assert not (folder / "index.json").exists()  # nobody reads some of both
    monkeypatch.setattr("seqkit.data.shards.prepare.tasks.write", None)  # nothing is read again
    whole = prepared(overwrite=overwrite, **keys)
    check(folder, whole)


def test_another_preparation_ends_the_one_that_is_whole_first(
    letters: Path, folder: Path, prepared: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        failing(patch, 3)
        with pytest.raises(OutputError, match="killed"):
            prepared(path=[str(letters)], overwrite=True)
    with pytest.raises(OutputError, match="holds what is done of preparing other files"):
        prepared(path=[str(tmp_path / "other.txt")])
    (tmp_path / "bad.txt").write_bytes(b"\xff")
    with pytest.raises(DataError, match="not utf-8"):
        prepared(path=[str(tmp_path / "bad.txt")], overwrite=True)
    check(folder, read_index(folder)[0])
    assert read_index(folder)[0].names == [f"{number}.txt" for number in range(5)]
    check(folder, prepared(path=[str(tmp_path / "other.txt")], overwrite=True))


def test_what_is_done_of_another_preparation_is_not_mixed_in(
    letters: Path, folder: Path, prepared: Prepare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as full:
        fill_disk(full, files=".000005.bin.*")
        with pytest.raises(OutputError, match="no space left"):
            prepared(path=[str(letters)], overwrite=True)
    check(folder, prepared(path=[str(tmp_path / "other.txt")], overwrite=True))


def test_a_users_files_are_not_taken_for_shards(
    letters: Path, folder: Path, prepared: Prepare
) -> None:
    (folder / "next").mkdir()
    (folder / "next" / "mine.txt").write_text("of the user")
    with pytest.raises(OutputError, match=r"holds next/mine\.txt, which is no shard"):
        prepared(path=[str(letters)], overwrite=True)
    assert (folder / "next" / "mine.txt").exists()


@pytest.mark.parametrize("index", [None, "", '{"fXrmat": "seqkit shards"}'])
def test_shards_whose_index_is_lost_are_replaced_if_nothing_else_is_there(
    index: str | None, letters: Path, folder: Path, prepared: Prepare, tmp_path: Path
) -> None:
    (folder / "index.json").unlink()
    if index is not None:
        (folder / "index.json").write_text(index)
    (folder / "000099.bin").write_bytes(b"of more shards than the new ones are")
    with pytest.raises(OutputError, match=r"shards that are damaged: .*index\.json: (dam|miss)"):
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


def test_a_kill_before_the_first_new_shard_leaves_those_whose_index_is_lost(
    letters: Path, folder: Path, prepared: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "index.json").unlink()
    before = content(folder)
    with monkeypatch.context() as killed:
        killed.setattr("seqkit.data.shards.journal.Journal.require_room", None)
        with pytest.raises(TypeError):
            prepared(path=[str(letters)], overwrite=True)
    with monkeypatch.context() as full:
        fill_disk(full, files=".000001.bin.*")
        with pytest.raises(OutputError, match="no space left"):
            prepared(path=[str(letters)], overwrite=True)
    assert before.items() <= content(folder).items()
    check(folder, prepared(path=[str(letters)], overwrite=True))


def test_no_shards_are_left_of_those_whose_index_is_lost(
    letters: Path, folder: Path, prepared: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "index.json").unlink()
    (folder / "000099.bin").write_bytes(b"of more shards than the new ones are")
    with monkeypatch.context() as full:
        fill_disk(full, files=".000000.bin.*")
        with pytest.raises(OutputError, match="no space left"):
            prepared(path=[str(letters)], overwrite=True)
    check(folder, prepared(path=[str(letters)], overwrite=True))


def failing(monkeypatch: pytest.MonkeyPatch, after: int) -> None:
    """Let files be renamed so often, and after that fail each time but the first."""
    rename: Callable[[Path, Path], None] = disk.rename
    left = [after]

    def limited(source: Path, target: Path) -> None:
        if not left[0]:
            left[0] = 1
            raise OutputError("killed")
        left[0] -= 1
        rename(source, target)

    monkeypatch.setattr(disk, "rename", limited)


def test_a_next_that_is_a_link_is_refused(
    letters: Path, folder: Path, prepared: Prepare, tmp_path: Path
) -> None:
    other = folder.rename(tmp_path / "other")
    before = content(other)
    folder.mkdir()
    (folder / "next").symlink_to(other)
    (folder / "prepare.jsonl").write_text('{"identity": "another"}\n')
    with pytest.raises(OutputError, match=r"next is a link: remove it, or give a new folder"):
        prepared(path=[str(letters)], overwrite=True)
    assert content(other) == before


def test_a_next_that_appears_while_the_folder_is_looked_at_is_no_fault(
    letters: Path, folder: Path, prepared: Prepare, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look(path: Path) -> bool:
        (path / "next").mkdir(exist_ok=True)  # as another process may
        return True

    monkeypatch.setattr(journal, "is_shards", look)
    check(folder, prepared(path=[str(letters)], overwrite=True))
