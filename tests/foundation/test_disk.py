"""The door to the disk: whole or absent, whatever fails, and in words."""

from pathlib import Path

import pytest

from seqkit.foundation import disk
from seqkit.foundation.errors import OutputError
from tests.conftest import fill_disk


@pytest.mark.parametrize("room", [0, 10])
def test_a_file_that_cannot_be_finished_leaves_the_old_one(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "file.txt"
    with disk.atomic_write(place) as stream:
        stream.write(b"old")
    fill_disk(monkeypatch, room)
    refused = pytest.raises(OutputError, match=r"cannot write .*file\.txt: no space left")
    with refused, disk.atomic_write(place) as stream:
        stream.write(b"new and longer")
    assert place.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["file.txt"]


def test_a_block_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    place = tmp_path / "folder" / "file.txt"
    with pytest.raises(KeyboardInterrupt), disk.atomic_write(place) as stream:
        stream.write(b"half")
        raise KeyboardInterrupt
    assert not list(place.parent.iterdir())


def test_what_exists_is_not_replaced_unasked(tmp_path: Path) -> None:
    place = tmp_path / "file.txt"
    disk.create(place).close()
    with pytest.raises(OutputError, match="exists: give another out"):
        disk.create(place)
    place.write_text("another's")
    (tmp_path / "second.txt").hardlink_to(place)
    disk.create(place, overwrite=True).close()
    assert (tmp_path / "second.txt").read_text() == "another's"
    disk.remove(tmp_path / "second.txt")
    disk.append(place, "one\n")
    disk.append(place, "two\n")
    assert place.read_text() == "one\ntwo\n"
    disk.rename(place, tmp_path / "other.txt")
    disk.remove(place)  # it is not there any more, which is what was wanted
    assert [file.name for file in tmp_path.iterdir()] == ["other.txt"]


def test_what_appears_meanwhile_is_not_replaced_unasked(tmp_path: Path) -> None:
    place = tmp_path / "file.txt"
    refused = pytest.raises(OutputError, match="exists: give another out")
    with refused, disk.atomic_write(place, overwrite=False) as stream:
        stream.write(b"new")
        place.write_bytes(b"another's")
    assert place.read_bytes() == b"another's"
    with disk.atomic_write(place) as stream:
        stream.write(b"asked for")
    with disk.atomic_write(tmp_path / "other.txt", overwrite=False) as stream:
        stream.write(b"nobody's")
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == {
        "file.txt": b"asked for",
        "other.txt": b"nobody's",
    }


def test_the_cache_can_be_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(OutputError, match="SEQKIT_CACHE_DIR"):
        disk.append(disk.cache_dir() / "x", "text")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SEQKIT_CACHE_DIR", "~/cache")  # as no shell has read it
    assert disk.cache_dir() == tmp_path / "cache"


def test_a_user_without_a_home_is_asked_for_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CACHE_HOME", "SEQKIT_CACHE_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)
    with pytest.raises(OutputError, match="name another folder for the cache with SEQ"):
        disk.append(disk.cache_dir() / "x", "text")
