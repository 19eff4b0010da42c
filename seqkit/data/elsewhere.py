"""Data elsewhere, at URLs or on the hub of Hugging Face, are read from copies in the cache."""

from dataclasses import replace
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import huggingface, remote
from seqkit.data.files import Meter
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.errors import ConfigError


def absolute(data: DataConfig) -> list[str]:
    """The paths as they are known from every folder; URLs and names on the hub are already."""

    def is_name(path: str) -> bool:
        return not Path(path).exists() if data.of_rows else remote.is_remote(path)

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
        rows = [huggingface.fetch(n, data, cache, notice, Meter(progress)) for n in data.path]
        return replace(data, path=[*map(str, rows)])
    urls = {path for path in data.path if remote.is_remote(path)}
    copies = {url: remote.fetch(url, cache, notice, progress) for url in urls}
    return replace(data, path=[str(copies.get(path, path)) for path in data.path])


def cached(data: DataConfig, cache: Path) -> DataConfig:
    """The keys with the copy in the place of each URL, or data set, that was fetched.

    No store is asked.
    """
    copies = {
        path: huggingface.copy_of(path, data, cache)
        if data.of_rows
        else remote.copy_of(path, cache)
        for path in data.path
        if data.of_rows or remote.is_remote(path)
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
