"""Streams (stdin, pipes) are copied once, into a file of the cache that stands for them."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from seqkit.data.meter import Meter
from seqkit.foundation import disk
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import DataError
from seqkit.foundation.timeout import HangingError, within

_PATIENCE = 10.0  # seconds until the first byte has come
_BLOCK = 1 << 20  # bytes
_STDIN = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")


def is_pipe(place: str) -> bool:
    """Whether a path is read as a stream: -, /dev/stdin, what <(…) becomes, a named pipe."""
    try:
        return place in _STDIN or stat.S_ISFIFO(Path(place).stat().st_mode)
    except (OSError, ValueError):
        return False


def settled(
    paths: Sequence[str],
    cache: Path,
    notice: Callable[[str], None],
    progress: Progress = unseen,
) -> list[str]:
    """The paths, with the file of the cache in the place of each stream, which is read to its end.

    Raises:
        DataError: a stream is empty or closed, or nothing comes; or the cache no longer has the
            file of one that was read before.
        OutputError: the cache cannot be written.
    """
    check_kept(paths, cache)
    new = [path for path in dict.fromkeys(paths) if is_pipe(path)]
    files = {path: _keep(path, cache, notice, Meter(progress)) for path in new}
    return [files.get(path, path) for path in paths]


def check_kept(paths: Sequence[str], cache: Path) -> None:
    """Raise DataError for the file of a stream that was read before and is gone."""
    for path in paths:
        if _is_of_a_stream(path, cache) and not Path(path).exists():
            raise DataError(
                f"{path}: the cache no longer holds what was read from {Path(path).name}: give the "
                "same content again, as data.path=- or as a file"
            )


def is_kept(path: str, cache: Path) -> bool:
    """Whether a path is the file of a stream that was read, and is still there."""
    return _is_of_a_stream(path, cache) and Path(path).is_file()


def blocks(place: str) -> Iterator[bytes]:
    """The bytes of a stream as they come.

    Raises:
        DataError: it is empty or closed, or nothing comes for 10 seconds at the start.
    """
    shown = _name_of(place)
    try:
        handle, block = within(_PATIENCE, lambda: _begun(place))
        with os.fdopen(handle, "rb", buffering=0) as stream:
            if not block:
                raise DataError(f"{shown}: empty: nothing was written to it")
            while block:
                yield block
                block = stream.read(_BLOCK)
    except HangingError as error:
        said = f"nothing came in {_PATIENCE:g} s: is anything written to it?"
        raise DataError(f"{shown}: {said}") from error
    except OSError as error:
        raise DataError(f"{shown}: cannot be read: {disk.describe(error)}") from error


def _begun(place: str) -> tuple[int, bytes]:
    """A handle of its own for a stream, and the first bytes of it. Raises DataError, OSError."""
    handle = os.dup(0) if place in _STDIN else os.open(place, os.O_RDONLY)
    mode = os.fstat(handle).st_mode
    if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):  # /dev/zero has no end
        os.close(handle)
        raise DataError("stdin is a terminal or a device: write to it through a pipe")
    return handle, os.read(handle, _BLOCK)


def _is_of_a_stream(path: str, cache: Path) -> bool:
    return Path(path).parent.parent == (cache / "streams").absolute()


def _name_of(place: str) -> str:
    if place in _STDIN:
        return "stdin"
    return "pipe" if place.startswith("/dev/fd/") else Path(place).name


def _keep(place: str, cache: Path, notice: Callable[[str], None], meter: Meter) -> str:
    """Read a stream into the cache; the path of the file, which is called as the stream is."""
    name, streams = _name_of(place), (cache / "streams").absolute()
    digest, size = hashlib.sha256(), 0
    notice(f"reading {name}")
    with disk.scratch(streams / name) as (file, temporary):
        with meter.shown(f"reading {name}", 0):
            for block in blocks(place):
                size += file.write(block)
                digest.update(block)
                meter.add(len(block))
        file.sync()
        kept = streams / digest.hexdigest() / name
        disk.make_folder(kept.parent)
        disk.rename(temporary, kept)
    notice(f"{name}: {size:,} bytes read, and kept as {kept}")
    return str(kept)
