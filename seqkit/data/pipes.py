"""Streams (stdin, pipes) are read once, into a file of the cache that stands for them."""

import contextlib
import hashlib
import os
import re
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from seqkit.data.meter import Meter
from seqkit.foundation import disk
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import DataError

_PATIENCE = 10.0  # seconds until the first byte has come
_LOOK_EVERY = 0.5  # seconds, while nothing comes
_MOST_KEPT = 8 << 30  # bytes of all streams together
_KEPT_FOR = 24 * 3600.0  # seconds, in which none is removed
_BLOCK = 1 << 20  # bytes
_OWN = re.compile(r"/(?:dev|proc/self)/fd/(\d+)")  # as the shell writes <(…)


def is_pipe(place: str) -> bool:
    """Whether a path is read as a stream: -, /dev/stdin, what <(…) becomes, a named pipe."""
    if place in ("-", "/dev/stdin") or _OWN.fullmatch(place):
        return True
    try:
        return stat.S_ISFIFO(Path(place).stat().st_mode)
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
        DataError: a stream is empty, closed or a device, or nothing comes; or the cache no longer
            has the file of one that was read before.
        OutputError: the cache cannot be written.
    """
    check_kept(paths, cache)
    meter = Meter(progress)
    new = [path for path in dict.fromkeys(paths) if is_pipe(path)]
    files = {path: _keep(path, cache, notice, meter) for path in new}
    if new:
        _forget_old(cache / "streams")
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


def _is_of_a_stream(path: str, cache: Path) -> bool:
    return Path(path).parent.parent == (cache / "streams").absolute()


def blocks(place: str) -> Iterator[bytes]:
    """The bytes of a stream as they come; now and then none, while nothing comes.

    Raises:
        DataError: it is empty, closed or a device, or nothing comes for 10 seconds at the start.
    """
    shown = _name_of(place) or place
    try:
        handle = _open(place, shown)
    except OSError as error:
        raise DataError(f"{shown}: cannot be read: {disk.describe(error)}") from error
    try:
        yield from _blocks(handle, shown, named=not _OWN.fullmatch(place) and shown != "stdin")
    except OSError as error:
        raise DataError(f"{shown}: cannot be read: {disk.describe(error)}") from error
    finally:
        os.close(handle)


def _blocks(handle: int, shown: str, *, named: bool) -> Iterator[bytes]:
    poll = select.poll()
    poll.register(handle, select.POLLIN)
    read, deadline = 0, time.monotonic() + _PATIENCE
    while True:
        left = _LOOK_EVERY if read else deadline - time.monotonic()
        if not read and left <= 0:
            raise DataError(f"{shown}: nothing came in {_PATIENCE:g} s: is anything written to it?")
        if not poll.poll(1000 * min(left, _LOOK_EVERY)):
            yield b""
            continue
        with contextlib.suppress(BlockingIOError):
            block = os.read(handle, _BLOCK)
            if not block and named and not read:  # nobody has opened the pipe for writing yet
                time.sleep(0.05)
            elif not block:
                break
            read += len(block)
            yield block
    if not read:
        raise DataError(f"{shown}: empty: nothing was written to it")


def _open(place: str, shown: str) -> int:
    """A handle of its own for a stream. Raises DataError, OSError."""
    own = _OWN.fullmatch(place)
    if shown == "stdin" and sys.stdin is None:
        raise DataError("stdin is closed: give data.path=FILE, or write to it through a pipe")
    if own or shown == "stdin":
        handle = os.dup(int(own[1]) if own else 0)
    else:
        handle = os.open(place, os.O_RDONLY | os.O_NONBLOCK)  # does not wait for a writer
    mode = os.fstat(handle).st_mode
    if os.isatty(handle):
        problem = "a terminal: write to it through a pipe, as in cat novel.txt | …"
    elif stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
        problem = "a device, such as /dev/zero, and not data: give a file or a pipe"
    elif stat.S_ISDIR(mode):
        problem = "a folder, not a stream: give its name"
    else:
        return handle
    os.close(handle)
    raise DataError(f"{shown} is {problem}")


def _name_of(place: str) -> str:
    """What a stream without a name of its own is called."""
    own = _OWN.fullmatch(place)
    if place in ("-", "/dev/stdin") or (own and own[1] == "0"):
        return "stdin"
    return "pipe" if own else ""


def _keep(place: str, cache: Path, notice: Callable[[str], None], meter: Meter) -> str:
    """Read a stream into the cache; the path of the file, which is called as the stream is."""
    name = _name_of(place) or Path(place).name
    streams = (cache / "streams").absolute()
    digest, size = hashlib.sha256(), 0
    notice(f"reading {name}")
    with disk.scratch(streams / name) as (file, temporary):
        with meter.shown(f"reading {name}", 0):
            for block in blocks(place):
                file.write(block)
                digest.update(block)
                size += len(block)
                meter.add(len(block))
        file.sync()
        kept = streams / digest.hexdigest() / name
        disk.make_folder(kept.parent)
        disk.rename(temporary, kept)
    notice(f"{name}: {size:,} bytes read, and kept as {kept}")
    return str(kept)


def _forget_old(kept: Path) -> None:
    """Remove what was read long ago, the oldest first, where all of it takes too much room."""
    with contextlib.suppress(OSError):  # another process removes some, too
        found = [(folder.stat().st_mtime, folder) for folder in kept.iterdir() if folder.is_dir()]
        sizes = {
            folder: sum(file.stat().st_size for file in folder.iterdir()) for _, folder in found
        }
        total = sum(sizes.values())
        for read_at, folder in sorted(found):
            if total <= _MOST_KEPT or read_at > time.time() - _KEPT_FOR:
                break
            disk.remove_folder(folder)
            total -= sizes[folder]
