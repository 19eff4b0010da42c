"""Locks of the operating system, and files that are held while they are written.

A lock ends with the process that holds it. A file system may have none, and on a network one may
count on its own host only.

While a process writes a file, or fills a folder, it holds the lock on it. What nobody holds was
left by a process that was killed, and is removed by the next one that writes to the same folder.
What another host left, which the name tells, has to be a day old as well.
"""

import contextlib
import fcntl
import os
import platform
import secrets
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

_PAUSE = 0.01  # seconds between two attempts
_LONGEST = 100  # bytes of the file's own name; a name has at most 255
_LEASE = 24 * 3600.0  # seconds
_HOST, _RANDOM = 4, 8  # hexadecimal digits

PATTERN = f".*.{'[0-9a-f]' * (_HOST + _RANDOM)}.half.tmp"
"""What files that are being written are called."""


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """A handle by which a file or folder can be locked in the block. Raises OSError."""
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        yield handle
    finally:
        os.close(handle)


def take(handle: int, patience: float = 0.0, *, shared: bool = False) -> bool | None:
    """Lock an open file or folder until it is closed.

    Args:
        handle: a file descriptor; on a network it has to be open for writing, unless `shared`.
        patience: seconds to wait for another process that has locked it.
        shared: only keep others from a lock of their own that is not shared.

    Returns:
        False if another process has locked it, None where there are no locks.
    """
    kind, ends = fcntl.LOCK_SH if shared else fcntl.LOCK_EX, time.monotonic() + patience
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= ends:
                return False
            time.sleep(_PAUSE)
        except OSError:
            return None


def name_for(path: Path) -> Path:
    """A new name beside `path`, for what is to take its place."""
    name = os.fsencode(path.name)[:_LONGEST].decode("utf-8", "ignore")
    return path.with_name(f".{name}.{_host()}{secrets.token_hex(_RANDOM // 2)}.half.tmp")


def hold(handle: int) -> bool:
    """Hold an open file or folder until it is closed.

    False: another process just removed it as stale. Raises OSError.
    """
    return take(handle) is not False and os.fstat(handle).st_nlink > 0


def dead(folder: Path) -> Iterator[Path]:
    """Files and folders in a folder that nobody holds any more, each held while it is handed on."""
    for path in folder.glob(PATTERN):
        with contextlib.suppress(OSError), opened(path) as handle:
            locked = take(handle)
            here = locked and path.name.split(".")[-3].startswith(_host())
            old = time.time() > os.fstat(handle).st_mtime + _LEASE
            if here or (old and locked is not False):
                yield path


def _host() -> str:
    """A few digits that tell this host from most others."""
    return f"{zlib.crc32(platform.node().encode()) & 0xFFFF:0{_HOST}x}"
