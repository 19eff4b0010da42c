"""What is done of a preparation, kept in its folder so that the same command can go on."""

import contextlib
import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from seqkit import disk, half_files
from seqkit.data.shards import starts
from seqkit.data.shards.index import INDEX, Shard, is_shards, read_index
from seqkit.data.shards.tasks import Written
from seqkit.errors import DataError, OutputError

_NAME = "prepare.jsonl"
_SHARD = re.compile(r"\d{6,}\.(bin|sizes)")


class Journal:
    """The file prepare.jsonl: what the shards are made of and with, and a line for each of them.

    settings: the first line, empty as long as it is not written.
    written: the shards by their numbers.
    """

    def __init__(self, folder: Path, identity: str, *, overwrite: bool) -> None:
        """Take up what is there, if it has this identity; with `overwrite`, else remove it.

        Raises:
            OutputError: what is there is another preparation.
        """
        self._path = folder / _NAME
        self._identity = identity
        self.settings: dict[str, Any] = {}
        self.written: dict[int, Written] = {}
        first, *lines = [*_lines(self._path)] or [None]
        if first is None:
            return
        if first.get("identity") != identity:
            if overwrite:
                _forget(folder)
                return
            raise OutputError(
                f"{folder} holds what is done of preparing other files, or with other settings: "
                "give another out, or overwrite=true"
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
        self.settings = {"identity": self._identity, **settings}
        disk.append(self._path, json.dumps(self.settings) + "\n")

    def add(self, number: int, written: Written) -> None:
        """A shard stands. Raises OutputError."""
        self.written[number] = written
        line = {"task": number, **dataclasses.asdict(written)}
        disk.append(self._path, json.dumps(line) + "\n")

    def end(self) -> None:
        """Everything is done: what a preparation needs to go on is removed. Raises OutputError."""
        for one in self.written.values():
            if one.shard is not None:
                disk.remove(starts.sizes_file(self._path.with_name(one.shard.file)))
        disk.remove(self._path)


@contextlib.contextmanager
def claimed(folder: Path, *, overwrite: bool) -> Iterator[None]:
    """Keep a folder for this process; it is made, and half files are removed from it.

    With `overwrite` shards that are there are removed, too.

    Raises:
        OutputError: the folder holds something else, or whole shards, or another process has it.
    """
    new = not folder.exists()
    disk.make_folder(folder)
    _check(folder, overwrite=overwrite)
    with disk.reopen(folder / _NAME) as file:
        _lock(folder, file.fileno())
        if overwrite and (folder / INDEX).exists():
            disk.remove(folder / INDEX)
            _remove_shards(folder)
        try:
            yield
        finally:
            for half in folder.glob(half_files.PATTERN):
                disk.remove(half)
            if not _size(folder / _NAME):  # nothing was begun
                disk.remove(folder / _NAME)
                if new and not any(folder.iterdir()):
                    disk.remove_folder(folder)


def _forget(folder: Path) -> None:
    """Remove what another preparation left in a folder that is claimed. Raises OutputError."""
    _remove_shards(folder)
    with disk.reopen(folder / _NAME) as file:
        file.seek(0)
        file.truncate()


def _check(folder: Path, *, overwrite: bool) -> None:
    """Refuse a folder with anything but shards in it, or with whole ones."""
    try:
        names = sorted(entry.name for entry in folder.iterdir())
    except OSError as error:
        raise OutputError(f"{folder}: cannot be read: {disk.describe(error)}") from error
    begun = _NAME in names or is_shards(folder)
    for name in names:
        own = (
            _SHARD.fullmatch(name)
            or name in (INDEX, starts.FILE, _NAME)
            or (folder / name).match(half_files.PATTERN)
        )
        if not begun or not own:
            raise OutputError(f"{folder} holds {name}, which is no shard: give a new folder as out")
    if INDEX in names and not overwrite:
        raise OutputError(_what_is_there(folder))


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


def _remove_shards(folder: Path) -> None:
    for file in folder.iterdir():
        if _SHARD.fullmatch(file.name) or file.name == starts.FILE:
            disk.remove(file)


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
