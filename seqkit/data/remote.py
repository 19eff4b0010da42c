"""Data elsewhere: URLs, which fsspec reads, and data sets of Hugging Face.

Both are read from copies in the cache, `remote/KEY/NAME` and `hf/KEY/NAME`.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from seqkit.config import DataConfig
from seqkit.data import huggingface
from seqkit.data.elsewhere import copy_in, failures_told
from seqkit.data.file_search import matches
from seqkit.data.files import Meter
from seqkit.data.streams import read_streams
from seqkit.foundation import disk
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError

_TIMEOUT = 30.0  # seconds that a web server may take for the next bytes
_BARRED = re.compile(r"(^|/)\.|\0")  # hidden, outside the folder, or a name that no file has


def is_remote(path: str) -> bool:
    """Whether a path is a URL, such as s3://bucket/folder."""
    return "://" in path


def absolute(data: DataConfig) -> list[str]:
    """The paths as they are known from every folder; URLs and names on the hub are already."""

    def is_name(path: str) -> bool:
        return not Path(path).exists() if data.of_rows else is_remote(path)

    return [path if is_name(path) else str(Path(path).absolute()) for path in data.path]


def localised(
    data: DataConfig, cache: Path, notice: Notice, progress: Progress = unseen
) -> DataConfig:
    """The keys with files of the cache in the place of streams, URLs and data sets.

    Raises what `read_streams` and `fetch` raise.
    """
    files = read_streams(data.path, cache, notice, progress)
    return fetch(replace(data, path=files), cache, notice, progress)


def fetch(data: DataConfig, cache: Path, notice: Notice, progress: Progress = unseen) -> DataConfig:
    """The keys with copies in the cache, brought up to date, in the place of URLs or data sets.

    Raises:
        ConfigError: keys of data sets without data.kind=hf, or of files with it; or what reads the
            data is not installed.
        DataError: they cannot be read.
        OutputError: the cache cannot be written.
    """
    _check_keys(data)

    def fetched(name: str) -> Path:
        if data.of_rows:
            return huggingface.fetch(name, data, cache, notice, Meter(progress))
        return fetch_url(name, data.pattern, cache, notice, progress)

    return _with_copies(data, fetched)


def cached(data: DataConfig, cache: Path) -> DataConfig:
    """The keys with the copy in the place of each URL, or data set, that was fetched.

    No store is asked.
    """

    def copy_or_name(name: str) -> str | Path:
        copy = huggingface.copy_of(name, data, cache) if data.of_rows else copy_of(name, cache)
        return copy if copy.exists() else name

    return _with_copies(data, copy_or_name)


def _with_copies(data: DataConfig, copy_of: Callable[[str], str | Path]) -> DataConfig:
    """The keys with what `copy_of` returns in the place of each URL, or data set."""
    paths = [copy_of(path) if data.of_rows or is_remote(path) else path for path in data.path]
    return replace(data, path=[*map(str, paths)])


def _check_keys(data: DataConfig) -> None:
    """Raise ConfigError for keys of data sets without data.kind=hf, or of files with it."""
    of_others = (
        ("encoding", "pattern", "document") if data.of_rows else ("column", "hf_split", "hf_subset")
    )
    for key in of_others:
        if (value := getattr(data, key)) != getattr(DataConfig(), key):
            what = "files: leave it out with" if data.of_rows else "data sets: give"
            raise ConfigError(f"data.{key}={value} is for {what} data.kind=hf")
    if data.of_rows and not data.path:
        raise ConfigError("data.kind=hf: give data.path=NAME, a data set on the hub or a folder")


def copy_of(url: str, cache: Path) -> Path:
    """The copy of a URL, there or not, called as the last part of the URL is."""
    parts = urlsplit(url.partition("::")[0])
    name = unquote(parts.path.rstrip("/")).rpartition("/")[2] or parts.netloc
    return copy_in(cache / "remote", url, name)


def fetch_url(
    url: str, pattern: str, cache: Path, notice: Notice, progress: Progress = unseen
) -> Path:
    """The copy of a URL, brought up to date; of a folder the files that match a pattern.

    A copy of a web page counts for a week; other stores are asked whether a file has changed.

    Raises:
        ConfigError: what reads such URLs is not installed.
        DataError: there is no such file or folder, or it cannot be read.
        OutputError: the disk of the cache is full.
    """
    copy = copy_of(url, cache)
    with failures_told(url, "remote"):
        from fsspec.core import OpenFile, OpenFiles
        from fsspec.implementations.cached import WholeFileCacheFileSystem

        store, files = _listed(url, pattern)
        names = {place: "/".join(filter(None, (copy.name, name))) for name, place in files.items()}
        copies = WholeFileCacheFileSystem(
            fs=store, cache_storage=str(copy.parent), check_files=True,
            cache_mapper=names.__getitem__, skip_instance_cache=True,
        )  # fmt: skip
        with progress(f"fetching {copy.name}", len(names), unit="files") as bar:
            for number, (place, name) in enumerate(names.items(), 1):
                disk.make_folder((copy.parent / name).parent)
                with OpenFiles([OpenFile(copies, place)], fs=copies):
                    bar.update(number)
    kept = {copy.parent / name for name in names.values()}
    for file in [*copy.rglob("*")] if copy.is_dir() else []:  # or they would be read, too
        if file.is_file() and file not in kept:
            disk.remove(file)
    notice(f"{url}: read from its copy, {copy}")
    return copy


def _listed(url: str, pattern: str) -> tuple[Any, dict[str, str]]:
    """The store of a URL, and the places of the files in it, by their paths in a folder.

    A file alone has none. Hidden files are left out.

    Raises:
        ConfigError: no store has such URLs.
        DataError: the folder has no such file.
    """
    from fsspec.core import url_to_fs

    try:
        store, root = url_to_fs(url, **_options(url))
    except ValueError as error:
        raise ConfigError(f"{url}: {error}") from error
    if url.startswith("http"):
        return store, {"": root}
    store.invalidate_cache()
    info = store.info(root)
    if info["type"] != "directory":
        return store, {"": root}
    folder = str(info["name"]).rstrip("/")
    files = {place.removeprefix(folder).lstrip("/"): place for place in store.find(root)}
    files = {n: at for n, at in files.items() if matches(n, pattern) and not _BARRED.search(n)}
    if not files:
        which = f" that matches {pattern}" if pattern else ""
        raise DataError(f"{url}: the folder holds no file{which}")
    return store, files


def _options(url: str) -> dict[str, Any]:
    """HTTP goes through the proxy, and takes as long as bytes come: by default five minutes."""
    if not url.startswith("http"):
        return {}
    from aiohttp import ClientTimeout

    timeout = ClientTimeout(total=None, sock_connect=_TIMEOUT, sock_read=_TIMEOUT)
    return {"client_kwargs": {"timeout": timeout, "trust_env": True}}
