"""Files that are being written: how they are called, and what becomes of them after a kill.

While a process writes a file, or fills a folder, it holds the operating system's lock on it. What
nobody holds was left by a process that was killed, and is removed by the next one that writes to
the same folder. A lock may count on its own host only, so what another host left, which the name
tells, has to be a day old as well.
"""

import contextlib
import os
import platform
import secrets
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from seqkit.foundation import locks

_LONGEST = 100  # bytes of the file's own name; a name has at most 255
_LEASE = 24 * 3600.0  # seconds
_HOST, _RANDOM = 4, 8  # hexadecimal digits

PATTERN = f".*.{'[0-9a-f]' * (_HOST + _RANDOM)}.half.tmp"
"""What files that are being written are called."""


def name_for(path: Path) -> Path:
    """A new name beside `path`, for what is to take its place."""
    name = os.fsencode(path.name)[:_LONGEST].decode("utf-8", "ignore")
    return path.with_name(f".{name}.{_host()}{secrets.token_hex(_RANDOM // 2)}.half.tmp")


def hold(handle: int) -> bool:
    """Hold an open file or folder until it is closed.

    False: another process just removed it as stale. Raises OSError.
    """
    return locks.take(handle) is not False and os.fstat(handle).st_nlink > 0


def dead(folder: Path) -> Iterator[Path]:
    """Files and folders in a folder that nobody holds any more, each held while it is handed on."""
    for path in folder.glob(PATTERN):
        with contextlib.suppress(OSError), locks.opened(path) as handle:
            locked = locks.take(handle)
            here = locked and path.name.split(".")[-3].startswith(_host())
            old = time.time() > os.fstat(handle).st_mtime + _LEASE
            if here or (old and locked is not False):
                yield path


def _host() -> str:
    """A few digits that tell this host from most others."""
    return f"{zlib.crc32(platform.node().encode()) & 0xFFFF:0{_HOST}x}"
