"""One process at a time writes to a folder: the operating system's lock, which ends with it."""

import contextlib
import os
from pathlib import Path

from filelock import FileLock, Timeout

from seqkit.foundation import disk
from seqkit.foundation.errors import OutputError

_PATIENCE = 0.2  # seconds for which another process may hold the lock only to look at it


class FolderLock:
    """The claim of this process to the folder of a lock file, from `take` to `release`."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._lock = _lock(file)
        self._own: os.stat_result | None = None

    @property
    def held(self) -> bool:
        """Whether it was taken."""
        return self._own is not None

    def take(self) -> None:
        """Own the folder. Raises OutputError if another process does, or none can."""
        try:
            self._lock.acquire()
            self._own = self._file.stat()
        except Timeout as error:
            raise OutputError(
                f"run_dir={self._file.parent}: another training writes to this folder"
            ) from error
        except OSError as error:
            raise OutputError(
                f"run_dir={self._file.parent}: {self._file} cannot be locked: "
                f"{disk.describe(error)}"
            ) from error

    def check(self) -> None:
        """Raise OutputError if the folder is not this process's any more: moved, or replaced."""
        if self._own is None:
            return
        with contextlib.suppress(FileNotFoundError):
            if os.path.samestat(self._own, self._file.stat()):
                return
        raise OutputError(
            f"{self._file} is no longer the file that this training holds: its folder was moved "
            "or replaced. This one ends, so that it does not mix with another"
        )

    def release(self) -> None:
        """Leave the folder to others."""
        self._lock.release()
        self._own = None


def is_locked(file: Path) -> bool:
    """Whether a living process owns the folder of this lock file."""
    if not file.is_file():
        return False
    try:
        with _lock(file):
            return False
    except Timeout:
        return True
    except OSError:  # not ours to write
        return False


def _lock(file: Path) -> FileLock:
    """Any thread may release it: a training's checkpoints are written in another one."""
    return FileLock(file, timeout=_PATIENCE, poll_interval=0.01, thread_local=False)
