"""Streams: standard input and pipes are read once, to their end, into files of the cache."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from seqkit.foundation import disk
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.errors import DataError
from seqkit.foundation.threads import HangingError, call_with_timeout

_TIMEOUT = 10.0  # seconds until the first byte of a stream has come
_BLOCK = 1 << 20  # bytes
_STDIN = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def is_pipe(place: str) -> bool:
    """Whether a path is read as a stream: -, /dev/stdin, what <(…) becomes, a named pipe."""
    try:
        return place in _STDIN or stat.S_ISFIFO(Path(place).stat().st_mode)
    except (OSError, ValueError):
        return False


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
    files = {path: keep(name, read, cache, notice, progress) for path, name, read in each}
    return [files.get(path, path) for path in paths]


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


def keep(
    name: str, blocks: Iterable[bytes], cache: Path, notice: Notice, progress: Progress = unseen
) -> str:
    """Write what can be read once to a file of the cache, called so: its path. Raises OutputError.

    `notice` is told.
    """
    streams = (cache / "streams").absolute()
    notice(f"reading {name}")
    digest, size = hashlib.sha256(), 0
    with disk.scratch(streams / name) as (file, temporary):
        with progress(f"reading {name}", unit="B") as bar:
            for block in blocks:
                size += file.write(block)
                digest.update(block)
                bar.add(len(block))
        file.sync()
        kept = streams / digest.hexdigest() / name
        if not kept.exists():  # read again, it stays the file that was encoded
            disk.make_folder(kept.parent)
            disk.rename(temporary, kept)
    notice(f"{name}: {size:,} bytes read, and kept as {kept}")
    return str(kept)


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
