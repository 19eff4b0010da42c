"""Files and folders at URLs (s3://, gs://, hf://, https://) are read from copies in the cache.

A copy is the folder `ROOM/KEY/` of the cache, and `ROOM/KEY.jsonl` has a line for each file that
arrived complete. fsspec fetches a file again only if its store says that it changed.
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
from seqkit.foundation.workers import HangingError, call_with_timeout

TIMEOUT = 30.0
"""Seconds that a store may take for the next bytes, or for a listing."""
_BARRED = re.compile(r"(^|/)\.|\0|/$")  # hidden, outside the folder, or a name that no file has
_ALIKE = {"name", "size", "type", "mimetype", "partial"}  # may be the same of other content
_BLOCK = 1 << 22  # bytes; a slow line has to bring them in time
Info = dict[str, Any]
"""What a store says of a file, under keys of its own beside `name` and `size`."""
T = TypeVar("T")


class CachedCopy:
    """The copy of a file or folder from elsewhere, at `path`, and what of it is complete."""

    def __init__(self, cache: Path, room: str, origin: str, name: str) -> None:
        """`room` is a folder of the cache; the copy is called `name`, if a file may be."""
        key = hashlib.sha256(origin.encode()).hexdigest()[:32]
        folder = (cache / room).absolute() / key
        self.path = folder / (name if name.strip(".") and "\0" not in name else "data")
        self._record = folder.with_suffix(".jsonl")

    def has(self, name: str, version: object) -> bool:
        """Whether this version of a file is here.

        `name` is its path in the folder, or empty where the copy is one file.
        """
        with contextlib.suppress(OSError):
            return self._complete.get(name) == (version, (self.path / name).stat().st_size)
        return False

    def write(self, name: str, version: object, blocks: Iterable[bytes], size: int = 0) -> None:
        """Copy a file, whole or not at all. Raises OutputError, and what `blocks` raises."""
        copied = 0
        with disk.atomic_write(self.path / name, size=size) as stream:
            for block in blocks:
                copied += stream.write(block)
        line = json.dumps({"file": name, "stamp": version, "size": copied})
        disk.append(self._record, f"\n{line}\n")  # a killed process may have left half a line

    def keep_only(self, names: Iterable[str]) -> None:
        """Remove the copies of all other files of a folder: they would be read too."""
        kept = {self.path / name for name in names}
        for file in [*self.path.rglob("[!.]*")] if self.path.is_dir() else []:
            if file.is_file() and file not in kept:
                disk.remove(file)

    @cached_property
    def _complete(self) -> dict[str, tuple[object, int]]:
        """Version and size of each file that arrived complete, by its last line in the record."""
        complete = {}
        with contextlib.suppress(OSError):
            for line in self._record.read_bytes().splitlines():
                with contextlib.suppress(ValueError):
                    entry = json.loads(line)
                    complete[entry["file"]] = entry["stamp"], entry["size"]
        return complete


def call_library(name: str, call: Callable[[], T], timeout: float, done: str = "") -> T:
    """What a call of a library that reads data elsewhere returns.

    Args:
        name: of the data, for errors.
        call: left behind in its thread if it hangs.
        timeout: in seconds.
        done: how far the reading was, for errors.

    Raises:
        DataError: it failed, in the library's own words, or hangs.
        SeqkitError: as the call does.
    """
    try:
        return call_with_timeout(timeout, call)
    except HangingError as error:
        raise DataError(f"{name}: nothing came for {timeout:g} s{done}") from error
    except SeqkitError:
        raise
    except Exception as error:  # each store, and each data set, raises its own
        cause = error.__cause__ or error  # fsspec turns every failure of HTTP into "not found"
        said = " ".join(f"{type(cause).__name__}: {cause}".split()).removesuffix(":")
        raise DataError(f"{name}: cannot be read{done}: {said}") from error


def fetch(
    url: str, data: DataConfig, cache: Path, notice: Callable[[str], None], meter: Meter
) -> Path:
    """The copy of a URL, brought up to date; of a folder the files that match `data.pattern`.

    Raises:
        ConfigError: what reads such URLs is not installed.
        DataError: there is no such file or folder, or it cannot be read whole, or it changed.
        OutputError: the cache cannot be written, or its disk is full.
    """
    copy = copy_of(url, data, cache)
    store, root = call_library(url, lambda: _open_store(url), TIMEOUT)
    files = _files(url, store, root)
    versions = _versions(files, data.pattern)
    if not versions:
        which = f" that matches {data.pattern}" if data.pattern else ""
        raise DataError(f"{url}: the folder holds no file{which}")
    if changed := [name for name, version in versions.items() if not copy.has(name, version)]:
        sizes = {name: files[name].get("size") or 0 for name in changed}
        total = sum(sizes.values())
        notice(f"{url}: fetching {counted(len(changed), 'file')}, {total / 1e6:,.1f} MB")
        with meter.shown(f"fetching {copy.path.name}", total):
            for name, size in sizes.items():
                file = f"{url.rstrip('/')}/{name}" if name else url
                blocks = _blocks(file, store, files[name], meter)
                copy.write(name, versions[name], blocks, size)
        if _versions(_files(url, store, root), data.pattern) != versions:
            raise DataError(f"{url}: changed while it was fetched: give the same command again")
    copy.keep_only(files)
    notice(f"{url}: read from its copy, {copy.path}")
    return copy.path


def copy_of(url: str, data: DataConfig, cache: Path) -> CachedCopy:
    """The copy of a URL, there or not, called as the last part of the URL is."""
    parts = urlsplit(url.partition("::")[0])
    name = unquote(parts.path.rstrip("/")).rpartition("/")[2] or parts.netloc
    return CachedCopy(cache, "remote", url, name)


def _open_store(url: str) -> tuple[Any, str]:
    """The file system of a URL, and the URL's path in it. Raises ConfigError."""
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


def _files(url: str, store: Any, root: str) -> dict[str, Info]:
    """The files in a folder as they are now, by their paths in it; a file alone has none.

    Hidden files are left out, and those whose names no file of the copy may have.

    Raises DataError.
    """
    if url.startswith("http") and url.partition("?")[0].endswith("/"):
        raise DataError(f"{url}: HTTP cannot list a folder: give the URL of each file")

    def listed() -> dict[str, Info]:
        store.invalidate_cache()
        info = store.info(root)
        if info["type"] != "directory":
            return {"": info}
        folder = str(info["name"]).rstrip("/") + "/"
        listing = sorted(store.find(root, detail=True).items())
        named = {place.removeprefix(folder).lstrip("/"): info for place, info in listing}
        return {name: info for name, info in named.items() if not _BARRED.search(name)}

    return call_library(url, listed, TIMEOUT)


def _versions(files: dict[str, Info], pattern: str) -> dict[str, dict[str, str]]:
    """What changes with the content of each file that matches."""
    return {n: _version(info) for n, info in files.items() if not n or matches(n, pattern)}


def _version(info: Info) -> dict[str, str]:
    """All that a store says of a file, but for its address: some sign that anew for each request.

    Where nothing else tells versions apart, the address counts as far as it is not signed.
    """
    said = {key: str(value) for key, value in info.items()}
    version = {key: value for key, value in said.items() if "://" not in value}
    if version.keys() <= _ALIKE:
        return {key: value.partition("?")[0] for key, value in said.items()}
    return version


def _blocks(file: str, store: Any, info: Info, meter: Meter) -> Iterator[bytes]:
    """The content of a file. Raises DataError if it is not as long as the store said."""
    size, read = info.get("size"), 0
    of = "" if size is None else f" of {size:,}"
    # Without blocks of its own, HTTP sends a file in one go, other stores what is asked for.
    stream = call_library(file, lambda: store.open(info["name"], "rb", block_size=0), TIMEOUT)
    try:
        while block := call_library(
            file, lambda: bytes(stream.read(_BLOCK)), TIMEOUT, f" after {read:,}{of} bytes"
        ):
            read += len(block)
            meter.add(len(block))
            yield block
    finally:
        threading.Thread(target=stream.close, daemon=True).start()  # it may hang, too
    if size not in (None, read):
        raise DataError(
            f"{file}: the connection closed after {read:,}{of} bytes: give the same command again"
        )
