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


class FolderLock:
    """The claim of this process to the folder of a lock file, from `take` to `release`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._handle: int | None = None

    @property
    def held(self) -> bool:
        """Whether it was taken."""
        return self._handle is not None

    def take(self) -> None:
        """Own the folder. Raises OutputError if another process does, or none can."""
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
        except OSError as error:
            raise OutputError(
                f"run_dir={self._file.parent}: {self._file} cannot be locked: "
                f"{disk.describe(error)}"
            ) from error
        if _is_refused(handle, fcntl.LOCK_EX):
            os.close(handle)
            raise OutputError(
                f"run_dir={self._file.parent}: another training writes to this folder"
            )
        self._handle = handle

    def check(self) -> None:
        """Raise OutputError if the folder is not this process's any more: moved, or replaced."""
        if self._handle is None:
            return
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(self._handle), self._file.stat()):
                return
        raise OutputError(
            f"{self._file} is no longer the file that this training holds: its folder was moved "
            "or replaced. This one ends, so that it does not mix with another"
        )

    def release(self) -> None:
        """Leave the folder to others."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None


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
