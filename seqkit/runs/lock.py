"""Who owns a run's folder: the process that holds the operating system's lock on a file in it.

A lock ends with its process. A file system may have none, and on a network one may count on its
own host only.
"""

import contextlib
import fcntl
import os
import time
from pathlib import Path

from seqkit.foundation import disk
from seqkit.foundation.errors import OutputError

_PATIENCE = 0.2  # seconds for which another process may hold the lock only to look at it
_PAUSE = 0.01  # seconds between two attempts


def take(file: Path) -> int:
    """A handle that owns the folder of a lock file until it is closed.

    Raises OutputError if another process owns it, or none can.
    """
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        reason = disk.describe(error)
        raise OutputError(f"run_dir={file.parent}: {file} cannot be locked: {reason}") from error
    if _is_refused(handle, fcntl.LOCK_EX):
        os.close(handle)
        raise OutputError(f"run_dir={file.parent}: another training writes to this folder")
    return handle


def check(handle: int, file: Path) -> None:
    """Raise OutputError if a lock file is not that of the handle any more: moved, or replaced."""
    with contextlib.suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(handle), file.stat()):
            return
    raise OutputError(
        f"{file} is no longer the file that this training holds: its folder was moved or replaced. "
        "This one ends, so that it does not mix with another"
    )


def is_locked(file: Path) -> bool:
    """Whether a living process owns the folder of this lock file."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:  # none is there, or not ours to read
        return False
    try:
        return _is_refused(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _is_refused(handle: int, kind: int) -> bool:
    """Lock an open file, if another process does not; whether one does."""
    ends = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            if time.monotonic() >= ends:
                return True
            time.sleep(_PAUSE)
        except OSError:  # there are no locks
            return False
