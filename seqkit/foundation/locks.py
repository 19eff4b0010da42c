"""The operating system's locks on files and folders, which end with the process that holds them.

A file system may have none, and on a network one they may count on their own host only.
"""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

_PAUSE = 0.01  # seconds between two attempts


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
