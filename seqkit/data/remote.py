"""URLs, which fsspec reads: copies of files in `remote/` of the cache."""

import contextlib
import errno
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from seqkit.foundation import disk
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError, OutputError, SeqkitError

_TIMEOUT = 30.0  # seconds that a web server may take for the next bytes


def is_remote(path: str) -> bool:
    """Whether a path is a URL, such as s3://bucket/folder."""
    return "://" in path


def copy_of(url: str, cache: Path) -> Path:
    """The copy of a URL, there or not, called as the last part of the URL is."""
    parts = urlsplit(url.partition("::")[0])
    name = unquote(parts.path.rstrip("/")).rpartition("/")[2] or parts.netloc
    return copy_in(cache / "remote", url, name)


def fetch(url: str, cache: Path, notice: Notice, progress: Progress = unseen) -> Path:
    """The copy of a URL's file, brought up to date.

    A copy of a web page counts for a week; other stores are asked whether the file has changed.

    Raises:
        ConfigError: what reads such URLs is not installed.
        DataError: there is no such file, or it cannot be read.
        OutputError: the disk of the cache is full.
    """
    copy = copy_of(url, cache)
    with failures_told(url, "remote"):
        from fsspec.core import OpenFile, OpenFiles, url_to_fs
        from fsspec.implementations.cached import WholeFileCacheFileSystem

        try:
            store, place = url_to_fs(url, **_options(url))
        except ValueError as error:
            raise ConfigError(f"{url}: {error}") from error
        store.invalidate_cache()
        if not url.startswith("http") and store.info(place)["type"] == "directory":
            raise DataError(f"{url}: a folder: give data.path=URL for each of its files")
        disk.make_folder(copy.parent)
        copies = WholeFileCacheFileSystem(
            fs=store, cache_storage=str(copy.parent), check_files=True,
            cache_mapper=lambda _: copy.name, skip_instance_cache=True,
        )  # fmt: skip
        with progress(f"fetching {copy.name}", 1, unit="files") as bar:
            with OpenFiles([OpenFile(copies, place)], fs=copies):
                bar.update(1)
    notice(f"{url}: read from its copy, {copy}")
    return copy


def _options(url: str) -> dict[str, Any]:
    """HTTP goes through the proxy, and takes as long as bytes come: by default five minutes."""
    if not url.startswith("http"):
        return {}
    from aiohttp import ClientTimeout

    timeout = ClientTimeout(total=None, sock_connect=_TIMEOUT, sock_read=_TIMEOUT)
    return {"client_kwargs": {"timeout": timeout, "trust_env": True}}


def copy_in(room: Path, origin: str, name: str) -> Path:
    """The place of a copy in a folder of the cache, called `name`, if a file may be."""
    key = hashlib.sha256(origin.encode()).hexdigest()[:32]
    return room.absolute() / key / (name if name.strip(".") and "\0" not in name else "data")


@contextlib.contextmanager
def failures_told(name: str, extra: str) -> Iterator[None]:
    """Tell in a line what a library that reads data elsewhere raises.

    Args:
        name: of the data.
        extra: of this package, which brings the library.

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
        raise ConfigError(
            f"{name}: needs more packages: pip install 'seqkit[{extra}]' ({error})"
        ) from error
    except Exception as error:  # each store, and each data set, raises its own
        if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise OutputError(f"{name}: no room for its copy on the disk: {error}") from error
        cause = error.__cause__ or error  # fsspec turns every failure of HTTP into "not found"
        said = " ".join(f"{type(cause).__name__}: {cause}".split()).removesuffix(":")
        raise DataError(f"{name}: cannot be read: {said}") from error
