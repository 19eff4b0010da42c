"""Data elsewhere (streams, URLs, data sets of Hugging Face) is read from copies in the cache."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import fsspec_store, huggingface, pipes
from seqkit.data.meter import Meter
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import ConfigError

Notice = Callable[[str], None]


def is_remote(path: str) -> bool:
    """Whether a path is a URL, such as s3://bucket/folder."""
    return "://" in path


def is_away(data: DataConfig, cache: Path, path: str) -> bool:
    """Whether a path of `kept` is a URL, or a data set, that has no copy in the cache."""
    in_cache = Path(path).parent.parent == (cache / "hf").absolute()
    return not in_cache if data.of_rows else is_remote(path)


def absolute(data: DataConfig) -> list[str]:
    """The paths as they are known from every folder; URLs and names on the hub are already."""
    return [path if _is_a_name(path, data) else str(Path(path).absolute()) for path in data.path]


def _is_a_name(path: str, data: DataConfig) -> bool:
    return not Path(path).exists() if data.of_rows else is_remote(path)


def settled(
    data: DataConfig, cache: Path, notice: Notice, progress: Progress = unseen
) -> DataConfig:
    """The keys with files of the cache in the place of streams, URLs and data sets.

    Raises what `pipes.settled` and `here` raise.
    """
    files = pipes.settled(data.path, cache, notice, progress)
    return here(replace(data, path=files), cache, notice, progress)


def here(data: DataConfig, cache: Path, notice: Notice, progress: Progress = unseen) -> DataConfig:
    """The keys with copies in the cache in the place of URLs, or of data sets.

    Raises:
        ConfigError: keys of data sets without data.kind=hf, or of files with it; and as `fetched`.
        DataError: as `fetched` of `fsspec_store` and `huggingface`.
    """
    _check_keys(data)
    fetcher = huggingface if data.of_rows else fsspec_store

    def copy_of(path: str) -> str:
        return str(fetcher.fetched(path, data, cache, notice, Meter(progress)))

    paths = [copy_of(path) if data.of_rows or is_remote(path) else path for path in data.path]
    return replace(data, path=paths)


def kept(data: DataConfig, cache: Path) -> DataConfig:
    """The keys with the copy in the place of each URL, or data set, that was fetched.

    No store is asked.
    """
    fetcher = huggingface if data.of_rows else fsspec_store

    def copy_of(path: str) -> str:
        copy = fetcher.copies_of(path, data, cache).path
        return str(copy) if copy.exists() else path

    paths = [copy_of(path) if data.of_rows or is_remote(path) else path for path in data.path]
    return replace(data, path=paths)


def _check_keys(data: DataConfig) -> None:
    """Raise ConfigError for keys of data sets without data.kind=hf, or of files with it."""
    of_others = ("encoding", "pattern") if data.of_rows else ("column", "hf_split", "hf_subset")
    for key in of_others:
        if (given := getattr(data, key)) != getattr(DataConfig(), key):
            what = "files: leave it out with" if data.of_rows else "data sets: give"
            raise ConfigError(f"data.{key}={given} is for {what} data.kind=hf")
    if data.of_rows and not data.path:
        raise ConfigError("data.kind=hf: give data.path=NAME, a data set on the hub or a folder")
