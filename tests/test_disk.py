"""The door to the disk: whole or absent, whatever fails, and in words."""

import errno
import io
from pathlib import Path
from typing import IO

import pytest

from seqkit import disk
from seqkit.errors import OutputError


class Full(io.BytesIO):
    """A file on a disk that is full after so many bytes."""

    def __init__(self, path: Path, room: int) -> None:
        super().__init__()
        self._path, self._room = path, room
        path.touch()

    def write(self, data: object) -> int:
        written = super().write(data)  # type: ignore[arg-type]
        if self.tell() > self._room:
            raise OSError(errno.ENOSPC, "No space left on device", str(self._path))
        return written

    def fileno(self) -> int:
        raise OSError(errno.EIO, "Input/output error")


def full_after(monkeypatch: pytest.MonkeyPatch, room: int) -> None:
    def open_file(path: Path, mode: str) -> IO[bytes]:
        return Full(path, room)

    monkeypatch.setattr(disk, "open_file", open_file)


@pytest.mark.parametrize("room", [0, 10, 1 << 20])
def test_a_file_that_cannot_be_finished_leaves_the_old_one(
    room: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "file.txt"
    with disk.atomic_write(place) as stream:
        stream.write(b"old")
    full_after(monkeypatch, room)
    refused = pytest.raises(OutputError, match=r"cannot write .*file\.txt: ")  # full, or no fsync
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
    disk.create(place, overwrite=True).close()
    disk.append(place, "one\n")
    disk.append(place, "two\n")
    assert place.read_text() == "one\ntwo\n"
    disk.rename(place, tmp_path / "other.txt")
    disk.remove(place)  # it is not there any more, which is what was wanted
    assert [file.name for file in tmp_path.iterdir()] == ["other.txt"]


def test_a_new_folder_is_nobody_elses(tmp_path: Path) -> None:
    disk.make_folder(tmp_path / "a" / "b")
    disk.make_folder(tmp_path / "a" / "b")
    with pytest.raises(FileExistsError):
        disk.make_folder(tmp_path / "a" / "b", new=True)
    (tmp_path / "file").touch()
    for make in (disk.make_folder, disk.remove):
        with pytest.raises(OutputError, match="cannot write"):
            make(tmp_path / "file" / "c")
    with pytest.raises(OutputError, match="no such file or directory"):
        disk.rename(tmp_path / "none", tmp_path / "some")


def test_the_cache_can_be_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("SEQKIT_CACHE_DIR", str(tmp_path / "file"))
    with pytest.raises(OutputError, match="SEQKIT_CACHE_DIR"):
        disk.append(disk.cache_dir() / "x", "text")
