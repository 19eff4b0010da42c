"""Streams, URLs and data sets of Hugging Face are read from copies in the cache."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import huggingface, url_cache
from seqkit.data.files import Meter
from seqkit.foundation import disk
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError
from seqkit.foundation.workers import HangingError, call_with_timeout

_TIMEOUT = 10.0  # seconds until the first byte of a stream has come
_BLOCK = 1 << 20  # bytes
_STDIN = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def is_remote(path: str) -> bool:
    """Whether a path is a URL, such as s3://bucket/folder."""
    return "://" in path


def is_pipe(place: str) -> bool:
    """Whether a path is read as a stream: -, /dev/stdin, what <(…) becomes, a named pipe."""
    try:
        return place in _STDIN or stat.S_ISFIFO(Path(place).stat().st_mode)
    except (OSError, ValueError):
        return False


def is_cached_stream(path: str, cache: Path) -> bool:
    """Whether a path is the file of a stream that was read, and is still there."""
    return Path(path).parent.parent == (cache / "streams").absolute() and Path(path).is_file()


def is_uncached(data: DataConfig, cache: Path, path: str) -> bool:
    """Whether a path of `cached` is a URL, or a data set, that has no copy in the cache."""
    in_cache = Path(path).parent.parent == (cache / "hf").absolute()
    return not in_cache if data.of_rows else is_remote(path)


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


def read_streams(
    paths: Sequence[str], cache: Path, notice: Notice, progress: Progress = unseen
) -> list[str]:
    """The paths, with the file of the cache in the place of each stream, which is read to its end.

    Raises:
        DataError: a stream is empty or closed, or nothing comes.
        OutputError: the cache cannot be written.
    """
    new = [path for path in dict.fromkeys(paths) if is_pipe(path)]
    each = ((path, _name_of(path), stream_blocks(path)) for path in new)
    files = {path: keep(name, read, cache, notice, Meter(progress)) for path, name, read in each}
    return [files.get(path, path) for path in paths]


def fetch(data: DataConfig, cache: Path, notice: Notice, progress: Progress = unseen) -> DataConfig:
    """The keys with copies in the cache, brought up to date, in the place of URLs or data sets.

    Raises:
        ConfigError: keys of data sets without data.kind=hf, or of files with it; and as `fetch`.
        DataError: as `fetch` of `url_cache` and `huggingface`.
    """
    _check_keys(data)
    fetch_one = huggingface.fetch if data.of_rows else url_cache.fetch
    return _with_copies(data, lambda name: fetch_one(name, data, cache, notice, Meter(progress)))


def cached(data: DataConfig, cache: Path) -> DataConfig:
    """The keys with the copy in the place of each URL, or data set, that was fetched.

    No store is asked.
    """
    copy_of = huggingface.copy_of if data.of_rows else url_cache.copy_of

    def copy_or_name(name: str) -> str | Path:
        copy = copy_of(name, data, cache).path
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


def stream_blocks(place: str) -> Iterator[bytes]:
    """The bytes of a stream as they come.

    Raises:
        DataError: it is empty or closed, or nothing comes for 10 seconds at the start.
    """
    shown = _name_of(place)
    try:
        handle, block = call_with_timeout(_TIMEOUT, lambda: _opened(place))
        with os.fdopen(handle, "rb", buffering=0) as stream:
            if not block:
                raise DataError(f"{shown}: empty: nothing was written to it")
            while block:
                yield block
                block = stream.read(_BLOCK)
    except HangingError as error:
        said = f"nothing came in {_TIMEOUT:g} s: is anything written to it?"
        raise DataError(f"{shown}: {said}") from error
    except OSError as error:
        raise DataError(f"{shown}: cannot be read: {disk.describe(error)}") from error


def _opened(place: str) -> tuple[int, bytes]:
    """A handle of its own for a stream, and the first bytes of it. Raises DataError, OSError."""
    handle = os.dup(0) if place in _STDIN else os.open(place, os.O_RDONLY)
    mode = os.fstat(handle).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):  # /dev/zero has no end
        os.close(handle)
        raise DataError("stdin is a terminal or a device: write to it through a pipe")
    return handle, os.read(handle, _BLOCK)


def _name_of(place: str) -> str:
    if place in _STDIN:
        return "stdin"
    return "pipe" if place.startswith("/dev/fd/") else Path(place).name


def keep(name: str, blocks: Iterable[bytes], cache: Path, notice: Notice, meter: Meter) -> str:
    """Write what can be read once to a file of the cache, called so: its path. Raises OutputError.

    `notice` is told.
    """
    streams = (cache / "streams").absolute()
    notice(f"reading {name}")
    digest, size = hashlib.sha256(), 0
    with disk.scratch(streams / name) as (file, temporary):
        with meter.shown(f"reading {name}", 0):
            for block in blocks:
                size += file.write(block)
                digest.update(block)
                meter.add(len(block))
        file.sync()
        kept = streams / digest.hexdigest() / name
        disk.make_folder(kept.parent)
        disk.rename(temporary, kept)
    notice(f"{name}: {size:,} bytes read, and kept as {kept}")
    return str(kept)
