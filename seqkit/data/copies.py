"""Data from elsewhere is copied into the cache: a folder, and what its files were copied from.

The folder is `ROOM/KEY/` of the cache. `ROOM/KEY.jsonl` has a line for each file that came whole.
"""

import contextlib
import hashlib
import json
from collections.abc import Callable, Iterable
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from seqkit.foundation import disk
from seqkit.foundation.errors import DataError, SeqkitError
from seqkit.foundation.timeout import HangingError, within

T = TypeVar("T")


class Copies:
    """What was copied from one origin.

    path: the copy, a file or a folder.
    """

    def __init__(self, cache: Path, room: str, origin: str, name: str) -> None:
        """`room` is a folder of the cache; the copy is called `name`, if a file may be."""
        key = hashlib.sha256(origin.encode()).hexdigest()[:32]
        folder = (cache / room).absolute() / key
        self.path = folder / (name if name.strip(".") and "\0" not in name else "data")
        self._record = folder.with_suffix(".jsonl")

    def has(self, name: str, stamp: object) -> bool:
        """Whether a file came whole when its origin had this stamp.

        `name` is its path in the folder, or empty where the copy is one file.
        """
        known = self._known.get(name)
        with contextlib.suppress(OSError):
            size = (self.path / name).stat().st_size
            return known is not None and (known["stamp"], known["size"]) == (stamp, size)
        return False

    def write(self, name: str, stamp: object, blocks: Iterable[bytes], size: int = 0) -> None:
        """Copy a file, whole or not at all. Raises OutputError, and what `blocks` raises."""
        copied = 0
        with disk.atomic_write(self.path / name, size=size) as stream:
            for block in blocks:
                copied += stream.write(block)
        line = json.dumps({"file": name, "stamp": stamp, "size": copied})
        disk.append(self._record, f"\n{line}\n")  # after what a killed process left of a line

    def keep_only(self, names: Iterable[str]) -> None:
        """Remove the copies of all other files, which else would be read."""
        places = {self.path / name for name in names}
        for copy in [*self.path.rglob("[!.]*")] if self.path.is_dir() else []:
            if copy.is_file() and copy not in places:
                disk.remove(copy)

    @cached_property
    def _known(self) -> dict[str, dict[str, Any]]:
        """What the last whole line about each file says."""
        known = {}
        with contextlib.suppress(OSError):
            for line in self._record.read_bytes().splitlines():
                with contextlib.suppress(ValueError):
                    entry = json.loads(line)
                    known[entry["file"]] = entry
        return known


def asked(name: str, call: Callable[[], T], patience: float, done: str = "") -> T:
    """What a call of a library that reads data elsewhere returns, in so many seconds.

    Args:
        name: of the data, for errors.
        call: is left behind in its thread if it hangs.
        patience: in seconds.
        done: what had come before it, for errors.

    Raises:
        DataError: it failed, in the library's own words, or hangs.
        SeqkitError: as the call does.
    """
    try:
        return within(patience, call)
    except HangingError as error:
        raise DataError(f"{name}: nothing came for {patience:g} s{done}") from error
    except SeqkitError:
        raise
    except Exception as error:  # each store, and each data set, raises its own
        cause = error.__cause__ or error  # fsspec says of each failure of HTTP: no file was found
        said = " ".join(f"{type(cause).__name__}: {cause}".split()).removesuffix(":")
        raise DataError(f"{name}: cannot be read{done}: {said}") from error
