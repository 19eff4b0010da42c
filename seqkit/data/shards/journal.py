"""What is done of a preparation, kept in its folder so that the same command can go on.

Where shards stand already, the new ones are written to a folder among them, `next`, and take their
place once all of them are whole.
"""

import contextlib
import dataclasses
import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seqkit.data.shards import starts
from seqkit.data.shards.index import (
    INDEX,
    JOURNAL,
    STARTS,
    Index,
    Shard,
    has_strange_journal,
    is_shards,
    read_index,
)
from seqkit.data.shards.tasks import Written
from seqkit.foundation import disk, temporary_files
from seqkit.foundation.errors import DataError, OutputError

_NAME, _NEXT = JOURNAL, "next"
_FIRST_FORMAT = 1  # of findings, of journals that name none
_SHARD = re.compile(r"\d{6,}\.(bin|sizes)")


class Journal:
    """The file prepare.jsonl: what the shards are made of and with, and a line for each of them.

    place: the folder to which they are written.
    settings: the first line, empty as long as it is not written.
    written: the shards by their numbers.
    """

    def __init__(self, folder: Path, identity: str, findings: int, *, overwrite: bool) -> None:
        """Take up what is there, if it has this identity; with `overwrite`, else remove it.

        `findings` is the format of what is found in the files of each shard.

        Raises:
            OutputError: what is there is another preparation, or its findings of another format.
        """
        self._folder, self._path = folder, folder / _NAME
        self._first = {"identity": identity, "format": findings}
        self.place = _place_in(folder)
        self.settings: dict[str, Any] = {}
        self.written: dict[int, Written] = {}
        first, *lines = [*_lines(self._path)] or [None]
        if first is None:
            return
        same_format = first.get("format", _FIRST_FORMAT) == findings
        if first.get("identity") != identity or not same_format:
            if overwrite:
                self._forget()
                return
            other = "other files, or with other settings"
            if first.get("identity") == identity:
                other = "these files by another version of seqkit"
            raise OutputError(
                f"{folder} holds what is done of preparing {other}: give another out, or "
                "overwrite=true"
            )
        self.settings = first
        for line in lines:
            with contextlib.suppress(KeyError, TypeError):  # damaged: made anew
                shard = line["shard"] and Shard(**line["shard"])
                files = [(number, count) for number, count in line["files"]]
                self.written[int(line["task"])] = Written(
                    shard, files, line["sizes_sha256"], line["findings"]
                )

    def begin(self, settings: Mapping[str, Any]) -> None:
        """Write the first line. Raises OutputError."""
        if self.place != self._folder:  # first: by it the next start finds the place again
            disk.make_folder(self.place)
        disk.remove(self.place / INDEX)  # of another preparation
        self.settings = {**self._first, **settings}
        with disk.reopen(self._path) as file:
            file.seek(0)
            file.truncate()  # a kill may have left a part of a line
            file.write(json.dumps(self.settings).encode() + b"\n")

    def require_room(self, size: int) -> None:
        """Refuse shards of so many bytes, those that are done among them, if the disk is too small.

        Raises OutputError.
        """
        done = sum(file.stat().st_size for file in self.place.glob("*.bin"))
        disk.require_space(self.place, size - done)

    def add(self, number: int, written: Written) -> None:
        """A shard stands. Raises OutputError."""
        self.written[number] = written
        line = {"task": number, **dataclasses.asdict(written)}
        disk.append(self._path, json.dumps(line) + "\n")

    def finished(self) -> Index | None:
        """The index of all shards, if a process was killed while it put them into the folder."""
        return self._index() if self.settings else None

    def end(self, index: Index) -> None:
        """Everything is written: write the index, and remove what a preparation needs to go on.

        Shards that stood in the folder go only now. Raises OutputError.
        """
        index.save(self.place)
        _remove_shards(self.place, but=_files_of(index))
        if self.place != self._folder:
            self._take_place(index)
        disk.remove(self._path)

    def _index(self) -> Index | None:
        """The index of all shards in `next`, None as long as it is not written."""
        if self.place != self._folder:
            with contextlib.suppress(DataError):
                return read_index(self.place)[0]
        return None

    def _take_place(self, index: Index) -> None:
        """Replace the shards in the folder by those in `next`, or go on with that."""
        disk.remove(self._folder / INDEX)  # nobody reads some of both
        new = _files_of(index)
        for name in new:
            if (self.place / name).exists():
                disk.rename(self.place / name, self._folder / name)
        _remove_shards(self._folder, but=new)
        index.save(self._folder)
        disk.remove(self.place / INDEX)
        _remove_if_empty(self.place)

    def _forget(self) -> None:
        """Remove what is done of another preparation; if all is written, let it take its place."""
        if index := self._index():
            self._take_place(index)
        elif self.place.exists():
            _remove_shards(self.place)
        with disk.reopen(self._path) as file:
            file.seek(0)
            file.truncate()


@contextlib.contextmanager
def claimed(folder: Path, *, overwrite: bool) -> Iterator[None]:
    """Keep a folder for this process; it is made, and half files are removed from it.

    Raises:
        OutputError: the folder holds something else, or whole shards and `overwrite` is false, or
            another process has it.
    """
    new = not folder.exists()
    disk.make_folder(folder)
    _check(folder, overwrite=overwrite)
    with disk.reopen(folder / _NAME) as file:
        _lock(folder, file.fileno())
        try:
            yield
        finally:
            for place in (folder, folder / _NEXT):
                for half in place.glob(temporary_files.PATTERN):
                    disk.remove(half)
            if not _size(folder / _NAME):  # nothing was begun
                disk.remove(folder / _NAME)
                _remove_if_empty(folder / _NEXT)
                if new:
                    _remove_if_empty(folder)


def _place_in(folder: Path) -> Path:
    """Where in a folder new shards are written: not where others stand."""
    place = folder / _NEXT
    stand = (folder / INDEX).exists() or is_shards(folder)
    return place if stand or place.exists() else folder


def _check(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder with anything but shards in it, or with whole ones."""
    names = _names_in(folder)
    finished = is_shards(folder)
    begun = _NAME in names or finished
    if (folder / _NEXT).is_symlink():  # what it leads to is not ours to replace
        raise OutputError(f"{folder / _NEXT} is a link: remove it, or give a new folder as out")
    if begun and _NEXT in names and (folder / _NEXT).is_dir():
        names.remove(_NEXT)
        names += [f"{_NEXT}/{name}" for name in _names_in(folder / _NEXT)]
    for name in names:
        strange = name == _NAME and has_strange_journal(folder)
        if strange or not begun or not _is_own(name.removeprefix(f"{_NEXT}/")):
            raise OutputError(f"{folder} holds {name}, which is no shard: give a new folder as out")
    if (finished or INDEX in names) and not overwrite:
        raise OutputError(_what_is_there(folder))


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise OutputError(f"{folder}: cannot be read: {disk.describe(error)}") from error


def _is_own(name: str) -> bool:
    """Whether a preparation gives a file this name."""
    known = _SHARD.fullmatch(name) or name in (INDEX, STARTS, _NAME)
    return bool(known or Path(name).match(temporary_files.PATTERN))


def _what_is_there(folder: Path) -> str:
    """Whether shards that are there look whole, and what to do; they are not read for it."""
    try:
        index, _ = read_index(folder)
        index.stored(folder, np.iinfo(index.dtype).max)
        starts.read(folder, index)
    except DataError as error:
        return f"{folder} holds shards that are damaged: {error}"
    return (
        f"{folder} holds shards: train with data.path={folder}; to prepare others give another "
        "out, or overwrite=true"
    )


def _files_of(index: Index) -> list[str]:
    """The names of the files that an index stands for."""
    return [*(shard.file for shard in index.shards), STARTS]


def _remove_shards(folder: Path, but: Collection[str] = ()) -> None:
    """Remove shards, and where documents start in them, except for some files."""
    for name in {*_names_in(folder)} - {*but}:
        if _SHARD.fullmatch(name) or name == STARTS:
            disk.remove(folder / name)


def _remove_if_empty(folder: Path) -> None:
    if folder.exists() and not any(folder.iterdir()):
        disk.remove_folder(folder)


def _size(file: Path) -> int:
    return file.stat().st_size if file.exists() else 0


def _lock(folder: Path, handle: int) -> None:
    with contextlib.suppress(ImportError):  # POSIX only
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise OutputError(f"{folder}: another process prepares data in it") from error
        except OSError:  # a file system without locks
            pass


def _lines(path: Path) -> Iterator[Any]:
    """The whole lines of a journal."""
    try:
        content = path.read_bytes()
    except OSError:
        return
    for line in content.split(b"\n")[:-1]:  # what follows the last one was being written
        with contextlib.suppress(ValueError):
            value = json.loads(line)
            if isinstance(value, dict):
                yield value
