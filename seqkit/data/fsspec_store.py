"""Files and folders at the URLs that fsspec knows (s3://, gs://, hf://, http://), copied.

A file is copied again only if its store says that it changed.
"""

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from seqkit.config import DataConfig
from seqkit.data.copies import Copies, asked
from seqkit.data.file_search import matches
from seqkit.data.meter import Meter
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.wording import counted

PATIENCE = 30.0
"""Seconds that a store may take for the next bytes, or for a listing."""
_BLOCK = 1 << 22  # bytes; a slow line has to bring them within PATIENCE


@dataclass(frozen=True)
class Entry:
    """A file of a store.

    name: its path within the folder that was asked for; empty if it is what was asked for.
    place: what the store calls it.
    size: in bytes; None if the store does not say.
    stamp: all that the store says of it.
    """

    name: str
    place: str
    size: int | None
    stamp: dict[str, str]


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
    chosen = [entry for entry in found if _is_asked_for(entry, data)]
    if not chosen:
        which = f" that matches {data.pattern}" if data.pattern else ""
        raise DataError(f"{url}: the folder holds no file{which}")
    if new := [entry for entry in chosen if not copies.has(entry.name, entry.stamp)]:
        size = sum(entry.size or 0 for entry in new)
        notice(f"{url}: fetching {counted(len(new), 'file')}, {size / 1e6:,.1f} MB")
        with meter.shown(f"fetching {copies.path.name}", size):
            for entry in new:
                blocks = _blocks(url, system, entry, meter)
                copies.write(entry.name, entry.stamp, blocks, entry.size or 0)
        if [entry for entry in _files(url, system) if _is_asked_for(entry, data)] != chosen:
            raise DataError(f"{url}: changed while it was fetched: give the same command again")
    copies.keep_only(entry.name for entry in found)
    notice(f"{url}: read from its copy, {copies.path}")
    return copies.path


def copies_of(url: str, data: DataConfig, cache: Path) -> Copies:
    """What was copied of a URL, or would be, called as the last part of the URL is."""
    parts = urlsplit(url.partition("::")[0])
    name = unquote(parts.path.rstrip("/")).rpartition("/")[2] or parts.netloc
    return Copies(cache, "remote", url, name)


def _is_asked_for(entry: Entry, data: DataConfig) -> bool:
    return not entry.name or matches(entry.name, data.pattern)


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
            f"data.path={url} needs more packages: pip install 'seqkit[remote]' ({error})"
        ) from error
    except ValueError as error:
        raise ConfigError(f"data.path={url}: {error}") from error


def _files(url: str, system: tuple[Any, str]) -> list[Entry]:
    """The file, or all files in the folder that are not hidden, as they are now.

    Raises DataError.
    """
    if url.startswith("http") and url.partition("?")[0].endswith("/"):
        raise DataError(f"{url}: HTTP cannot list a folder: give the URL of each file")
    store, root = system

    def listed() -> list[Entry]:
        store.invalidate_cache()
        info = store.info(root)
        if info["type"] != "directory":
            return [_entry("", info)]
        folder = str(info["name"]).rstrip("/") + "/"
        found = sorted(store.find(root, detail=True).items())
        entries = [_entry(place.removeprefix(folder).lstrip("/"), one) for place, one in found]
        return [entry for entry in entries if _may_be_a_name(entry.name)]

    return asked(url, listed, PATIENCE)


def _entry(name: str, info: dict[str, Any]) -> Entry:
    stamp = {key: str(value) for key, value in info.items()}
    return Entry(name, str(info["name"]), info.get("size"), stamp)


def _may_be_a_name(name: str) -> bool:
    """Whether a copy may be called so: neither hidden nor a way out of the folder."""
    hidden = any(part.startswith(".") for part in name.split("/"))
    return not (hidden or "\0" in name or name.endswith("/"))  # some stores have folder/


def _blocks(url: str, system: tuple[Any, str], entry: Entry, meter: Meter) -> Iterator[bytes]:
    """The content of a file. Raises DataError if it is not as long as the store said."""
    file = f"{url.rstrip('/')}/{entry.name}" if entry.name else url
    read, of = 0, "" if entry.size is None else f" of {entry.size:,}"
    # Without blocks of its own, HTTP sends the file in one go, and other stores what is asked.
    stream = asked(file, lambda: system[0].open(entry.place, "rb", block_size=0), PATIENCE)
    try:
        while block := asked(
            file, lambda: bytes(stream.read(_BLOCK)), PATIENCE, f" after {read:,}{of} bytes"
        ):
            read += len(block)
            meter.add(len(block))
            yield block
    finally:
        threading.Thread(target=stream.close, daemon=True).start()  # which may hang, too
    if entry.size not in (None, read):
        raise DataError(
            f"{file}: came to its end after {read:,}{of} bytes: give the same command again"
        )
