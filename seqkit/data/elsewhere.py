"""Data elsewhere, at URLs or on the hub of Hugging Face, are read from copies in the cache.

`remote/` has files of URLs, which fsspec reads. `hf/` has columns of text of data sets as files, a
line a row: once, until somebody removes them, or the files on the disk change.
"""

import contextlib
import errno
import hashlib
import json
import logging
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from seqkit.config import DataConfig
from seqkit.data.files import stamp
from seqkit.data.text_encoder import line_of
from seqkit.foundation import disk
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError, OutputError, SeqkitError
from seqkit.foundation.wording import counted

_TIMEOUT = 30.0  # seconds that a web server may take for the next bytes
_BARRED = re.compile(r"(^|/)\.|\0")  # hidden, outside the folder, or a name that no file has


def absolute(data: DataConfig) -> list[str]:
    """The paths as they are known from every folder; URLs and names on the hub are already."""

    def is_name(path: str) -> bool:
        return not Path(path).exists() if data.of_rows else is_remote(path)

    return [path if is_name(path) else str(Path(path).absolute()) for path in data.path]


def fetch(data: DataConfig, cache: Path, notice: Notice, progress: Progress = unseen) -> DataConfig:
    """The keys with copies in the cache, brought up to date, in the place of URLs or data sets.

    Raises:
        ConfigError: keys of data sets without data.kind=hf, or of files with it; or what reads the
            data is not installed.
        DataError: they cannot be read.
        OutputError: the cache cannot be written.
    """
    _check_keys(data)
    if data.of_rows:
        rows = [_fetch_rows(n, data, cache, notice, progress) for n in data.path]
        return replace(data, path=[*map(str, rows)])
    urls = {path for path in data.path if is_remote(path)}
    copies = {url: fetch_url(url, cache, notice, progress) for url in urls}
    return replace(data, path=[str(copies.get(path, path)) for path in data.path])


def cached(data: DataConfig, cache: Path) -> DataConfig:
    """The keys with the copy in the place of each URL, or data set, that was fetched.

    No store is asked.
    """
    copies = {
        path: copy_of_rows(path, data, cache) if data.of_rows else copy_of_url(path, cache)
        for path in data.path
        if data.of_rows or is_remote(path)
    }
    kept = {path: copy for path, copy in copies.items() if copy.exists()}
    return replace(data, path=[str(kept.get(path, path)) for path in data.path])


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


def is_remote(path: str) -> bool:
    """Whether a path is a URL, such as s3://bucket/novel.txt."""
    return "://" in path


def copy_of_url(url: str, cache: Path) -> Path:
    """The copy of a URL, there or not, called as the last part of the URL is."""
    parts = urlsplit(url.partition("::")[0])
    name = unquote(parts.path.rstrip("/")).rpartition("/")[2] or parts.netloc
    return _copy_in(cache / "remote", url, name)


def fetch_url(url: str, cache: Path, notice: Notice, progress: Progress = unseen) -> Path:
    """The copy of a URL's file, or of all files of its folder, brought up to date.

    A copy of a web page counts for a week; other stores are asked what has changed.

    Raises:
        ConfigError: what reads such URLs is not installed.
        DataError: there is no such file or folder, or it cannot be read.
        OutputError: the disk of the cache is full.
    """
    copy = copy_of_url(url, cache)
    with _failures_told(url, "remote"):
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


def _copy_in(room: Path, origin: str, name: str) -> Path:
    """The place of a copy in a folder of the cache, called `name`, if a file may be."""
    key = hashlib.sha256(origin.encode()).hexdigest()[:32]
    return room.absolute() / key / (name if name.strip(".") and "\0" not in name else "data")


@contextlib.contextmanager
def _failures_told(name: str, extra: str) -> Iterator[None]:
    """Tell in a line what the library that an `extra` of this package brings raises.

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


def _fetch_rows(
    name: str, data: DataConfig, cache: Path, notice: Notice, progress: Progress
) -> Path:
    """The file of rows that a data set's column was copied to, now or before.

    `name` is one on the hub, or a folder or file on the disk. Raises as `fetch`.
    """
    copy, count = copy_of_rows(name, data, cache), 0
    if copy.exists():
        notice(f"{name}: read from its copy, {copy}")
        return copy
    with (
        _failures_told(name, "hf"),
        progress(f"reading {copy.name}", unit="B") as bar,
        disk.atomic_write(copy) as stream,
    ):
        for row in _rows(name, _builder(name, data), data):
            count += 1
            bar.add(stream.write(line_of(row)))
        if not count:
            raise DataError(f"{name}: the split {data.hf_split} has no text in {data.column}")
    notice(f"{name}: {counted(count, 'row')}, each a document, kept as {copy}")
    return copy


def copy_of_rows(name: str, data: DataConfig, cache: Path) -> Path:
    """The copy of a data set's column, there or not, called as the data set is."""
    path = Path(name)
    files = sorted(path.rglob("*")) if path.is_dir() else [path] if path.is_file() else []
    place = [[str(file.absolute()), *stamp(file)] for file in files if file.is_file()] or name
    origin = json.dumps([place, data.hf_subset, data.hf_split, data.column])
    return _copy_in(cache / "hf", origin, path.name)


def _builder(name: str, data: DataConfig) -> Any:
    """What makes the data set. Raises what the library does."""
    import datasets
    import huggingface_hub

    datasets.disable_progress_bars()
    for library in (datasets, huggingface_hub):  # what goes wrong is told once
        library.logging.set_verbosity(logging.CRITICAL)
    path, subset = Path(name), data.hf_subset or None
    if path.is_file():
        files = {data.hf_split: path.name}
        return datasets.load_dataset_builder(str(path.absolute().parent), subset, data_files=files)
    return datasets.load_dataset_builder(name, subset)


def _rows(name: str, builder: Any, data: DataConfig) -> Iterator[str]:
    """The text of each row that has some, whatever type its cell is of.

    Raises DataError for a column that is not there.
    """
    rows, column = builder.as_streaming_dataset(data.hf_split), data.column
    if column in (rows.column_names or ()):  # sound beside it, say, is not decoded
        rows = rows.select_columns([column])
    for row in rows:
        if column not in row:
            only = ", ".join(builder.info.features or row)
            raise DataError(f"data.column={column}: {name} has no such column, only {only}")
        if text := "" if row[column] is None else str(row[column]):
            yield text
