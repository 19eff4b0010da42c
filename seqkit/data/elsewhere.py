"""Data elsewhere, at URLs, which fsspec reads, are read from copies in the cache: `remote/`."""

import contextlib
import errno
import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from seqkit.config import DataConfig
from seqkit.foundation import disk
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError, OutputError, SeqkitError

_TIMEOUT = 30.0  # seconds that a web server may take for the next bytes
_BARRED = re.compile(r"(^|/)\.|\0")  # hidden, outside the folder, or a name that no file has


def absolute(data: DataConfig) -> list[str]:
    """The paths as they are known from every folder; URLs are already."""
    return [path if is_remote(path) else str(Path(path).absolute()) for path in data.path]


def fetch(data: DataConfig, cache: Path, notice: Notice, progress: Progress = unseen) -> DataConfig:
    """The keys with copies in the cache, brought up to date, in the place of URLs.

    Raises as `fetch_url`.
    """
    urls = {path for path in data.path if is_remote(path)}
    copies = {url: fetch_url(url, cache, notice, progress) for url in urls}
    return replace(data, path=[str(copies.get(path, path)) for path in data.path])


def cached(data: DataConfig, cache: Path) -> DataConfig:
    """The keys with the copy in the place of each URL that was fetched. No store is asked."""
    copies = {path: copy_of_url(path, cache) for path in data.path if is_remote(path)}
    kept = {path: copy for path, copy in copies.items() if copy.exists()}
    return replace(data, path=[str(kept.get(path, path)) for path in data.path])


def is_remote(path: str) -> bool:
    """Whether a path is a URL, such as s3://bucket/novel.txt."""
    return "://" in path


def copy_of_url(url: str, cache: Path) -> Path:
    """The copy of a URL, there or not, called as the last part of the URL is."""
    parts = urlsplit(url.partition("::")[0])
    name = unquote(parts.path.rstrip("/")).rpartition("/")[2] or parts.netloc
    key = hashlib.sha256(url.encode()).hexdigest()[:32]
    usable = name.strip(".") and "\0" not in name
    return (cache / "remote").absolute() / key / (name if usable else "data")


def fetch_url(url: str, cache: Path, notice: Notice, progress: Progress = unseen) -> Path:
    """The copy of a URL's file, or of all files of its folder, brought up to date.

    A copy of a web page counts for a week; other stores are asked what has changed.

    Raises:
        ConfigError: what reads such URLs is not installed.
        DataError: there is no such file or folder, or it cannot be read.
        OutputError: the disk of the cache is full.
    """
    copy = copy_of_url(url, cache)
    with _failures_told(url):
        from fsspec.core import OpenFile, OpenFiles, url_to_fs
        from fsspec.implementations.cached import WholeFileCacheFileSystem

        try:
            store, place = url_to_fs(url, **_options(url))
        except ValueError as error:
            raise ConfigError(f"{url}: {error}") from error
        store.invalidate_cache()
        names = {place: copy.name}
        if not url.startswith("http") and (about := store.info(place))["type"] == "directory":
            root = str(about["name"]).rstrip("/")
            inside = {each: each.removeprefix(root).lstrip("/") for each in store.find(place)}
            kept = {each: name for each, name in inside.items() if not _BARRED.search(name)}
            names = {each: f"{copy.name}/{name}" for each, name in kept.items()}
            if not names:
                raise DataError(f"{url}: the folder holds no file")
        copies = WholeFileCacheFileSystem(
            fs=store, cache_storage=str(copy.parent), check_files=True,
            cache_mapper=names.__getitem__, skip_instance_cache=True,
        )  # fmt: skip
        with progress(f"fetching {copy.name}", len(names), unit="files") as bar:
            for each, name in names.items():
                disk.make_folder((copy.parent / name).parent)
                with OpenFiles([OpenFile(copies, each)], fs=copies):
                    bar.add(1)
    for file in {*copy.rglob("*")} - {copy.parent / name for name in names.values()}:
        if file.is_file():  # the store has it no more
            disk.remove(file)
    notice(f"{url}: read from its copy, {copy}")
    return copy


def _options(url: str) -> dict[str, Any]:
    """HTTP goes through the proxy, and takes as long as bytes come: by default five minutes."""
    if not url.startswith("http"):
        return {}
    from aiohttp import ClientTimeout

    timeout = ClientTimeout(total=None, sock_connect=_TIMEOUT, sock_read=_TIMEOUT)
    return {"client_kwargs": {"timeout": timeout, "trust_env": True}}


@contextlib.contextmanager
def _failures_told(url: str) -> Iterator[None]:
    """Tell in a line what the libraries that read a URL raise.

    Raises:
        ConfigError: the library is not installed.
        OutputError: the disk is full.
        DataError: the data cannot be read, in the library's own words.
    """
    try:
        yield
    except SeqkitError:
        raise
    except ImportError as error:
        hint = f"needs more packages: pip install 'seqkit[remote]' ({error})"
        raise ConfigError(f"{url}: {hint}") from error
    except Exception as error:  # each store raises its own
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(f"{url}: no room for its copy on the disk: {error}") from error
        cause = error.__cause__ or error  # fsspec turns every failure of HTTP into "not found"
        said = " ".join(f"{type(cause).__name__}: {cause}".split()).removesuffix(":")
        raise DataError(f"{url}: cannot be read: {said}") from error
