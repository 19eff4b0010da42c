"""Data from elsewhere is copied into the cache: what came whole is recorded; URLs by fsspec.

A copy is the folder `ROOM/KEY/` of the cache, and `ROOM/KEY.jsonl` has a line for each file that
came whole. At URLs are the files and folders that fsspec knows (s3://, gs://, hf://, http://): a
file is copied again only if its store says that it changed.
"""

import contextlib
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

from seqkit.config import DataConfig
from seqkit.data.file_search import matches
from seqkit.data.files import Meter
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DataError, SeqkitError
from seqkit.foundation.wording import counted
from seqkit.foundation.workers import HangingError, within

PATIENCE = 30.0
"""Seconds that a store may take for the next bytes, or for a listing."""
_BARRED = re.compile(r"(^|/)\.|\0|/$")  # some stores have folder/
_BLOCK = 1 << 22  # bytes; a slow line has to bring them within PATIENCE
Info = dict[str, Any]
"""What a store says of a file, under keys of its own beside `name` and `size`."""
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


def fetched(
    url: str, data: DataConfig, cache: Path, notice: Callable[[str], None], meter: Meter
) -> Path:
    """The copy of a URL, brought up to date; of a folder the files that match `data.pattern`.

    Raises:
        ConfigError: what reads such URLs is not installed.
        DataError: there is no such file or folder, or it cannot be read whole, or it changed.
        OutputError: the cache cannot be written, or its disk is full.
    """
    copies, system = copies_of(url, data, cache), asked(url, lambda: _file_system(url), PATIENCE)
    found = _files(url, system)
    chosen = _chosen(found, data)
    if not chosen:
        which = f" that matches {data.pattern}" if data.pattern else ""
        raise DataError(f"{url}: the folder holds no file{which}")
    if new := {n: info for n, info in chosen.items() if not copies.has(n, _stamp(info))}:
        size = sum(info.get("size") or 0 for info in new.values())
        notice(f"{url}: fetching {counted(len(new), 'file')}, {size / 1e6:,.1f} MB")
        with meter.shown(f"fetching {copies.path.name}", size):
            for name, info in new.items():
                blocks = _blocks(f"{url.rstrip('/')}/{name}" if name else url, system, info, meter)
                copies.write(name, _stamp(info), blocks, info.get("size") or 0)
        if _chosen(_files(url, system), data) != chosen:
            raise DataError(f"{url}: changed while it was fetched: give the same command again")
    copies.keep_only(found)
    notice(f"{url}: read from its copy, {copies.path}")
    return copies.path


def copies_of(url: str, data: DataConfig, cache: Path) -> Copies:
    """What was copied of a URL, or would be, called as the last part of the URL is."""
    parts = urlsplit(url.partition("::")[0])
    name = unquote(parts.path.rstrip("/")).rpartition("/")[2] or parts.netloc
    return Copies(cache, "remote", url, name)


def _chosen(found: dict[str, Info], data: DataConfig) -> dict[str, Info]:
    return {n: info for n, info in found.items() if not n or matches(n, data.pattern)}


def _stamp(info: Info) -> dict[str, str]:
    """What changes with a file's content: all that the store says of it."""
    return {key: str(value) for key, value in info.items()}


def _file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, and what it calls the place. Raises ConfigError."""
    try:
        from fsspec.core import url_to_fs

        options: dict[str, Any] = {}
        if names := [name for name in ("http", "https") if f"{name}://" in url]:
            from aiohttp import ClientTimeout

            # By default a file had to come within five minutes, and a proxy was passed over.
            client = {"timeout": ClientTimeout(total=None), "trust_env": True}
            options = {name: {"client_kwargs": client} for name in names}
        return url_to_fs(url, **options)  # type: ignore[no-any-return]
    except ImportError as error:
        raise ConfigError(
            f"{url}: needs more packages: pip install 'seqkit[remote]' ({error})"
        ) from error
    except ValueError as error:
        raise ConfigError(f"{url}: {error}") from error


def _files(url: str, system: tuple[Any, str]) -> dict[str, Info]:
    """The files in a folder as they are now, by their paths in it; a file alone has none.

    Left out is what a copy may not be called: what is hidden, or leads out of the folder.

    Raises DataError.
    """
    if url.startswith("http") and url.partition("?")[0].endswith("/"):
        raise DataError(f"{url}: HTTP cannot list a folder: give the URL of each file")
    store, root = system

    def listed() -> dict[str, Info]:
        store.invalidate_cache()
        info = store.info(root)
        if info["type"] != "directory":
            return {"": info}
        folder = str(info["name"]).rstrip("/") + "/"
        found = sorted(store.find(root, detail=True).items())
        named = {place.removeprefix(folder).lstrip("/"): one for place, one in found}
        return {name: one for name, one in named.items() if not _BARRED.search(name)}

    return asked(url, listed, PATIENCE)


def _blocks(file: str, system: tuple[Any, str], info: Info, meter: Meter) -> Iterator[bytes]:
    """The content of a file. Raises DataError if it is not as long as the store said."""
    size, read = info.get("size"), 0
    of = "" if size is None else f" of {size:,}"
    # Without blocks of its own, HTTP sends the file in one go, and other stores what is asked.
    stream = asked(file, lambda: system[0].open(info["name"], "rb", block_size=0), PATIENCE)
    try:
        while block := asked(
            file, lambda: bytes(stream.read(_BLOCK)), PATIENCE, f" after {read:,}{of} bytes"
        ):
            read += len(block)
            meter.add(len(block))
            yield block
    finally:
        threading.Thread(target=stream.close, daemon=True).start()  # which may hang, too
    if size not in (None, read):
        raise DataError(
            f"{file}: came to its end after {read:,}{of} bytes: give the same command again"
        )
