"""Who trains in a folder: one process at a time, on this host and on all that share the folder.

The lock file names its owner. On one host the operating system's lock decides, which ends with its
process. Over a network file system such a lock may count on its own host only, so that the owner
also renews the file's time stamp: another host takes over a file that was not renewed for a minute.
"""

import contextlib
import errno
import math
import os
import platform
import secrets
import stat
import threading
import time
from pathlib import Path
from typing import IO, Any

from seqkit.foundation import disk, temporary_files
from seqkit.foundation.disk import OutputFile
from seqkit.foundation.errors import OutputError
from seqkit.runs.owner import LARGEST, described, is_own, named, written

_BEAT = 15.0  # seconds between two renewals
_LEASE = 60.0  # seconds without one after which the owner counts as dead on other hosts
_PATIENCE = 0.2  # seconds for which a reader may hold the lock, to see whether another does
_LOOK_AGAIN = 0.01  # seconds
_TRIES = 20  # to own a lock file in the place of another


class Claim:
    """The claim of this process to the folder of a lock file, from `take` to `release`."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._file: OutputFile | None = None
        self._own: dict[str, Any] = {}
        self._ended = threading.Event()
        self._renewing: threading.Thread | None = None

    @property
    def held(self) -> bool:
        """Whether it was taken."""
        return self._file is not None

    def take(self) -> None:
        """Own the folder. Raises OutputError if another process does, or none can."""
        for _ in range(_TRIES):
            if file := self._written():
                break
            _replace(self._place)
        else:
            raise OutputError(f"{self._place} is replaced again and again: start again")
        self._file = file
        self._ended.clear()
        renewing = threading.Thread(target=self._renew, args=(file,), daemon=True)
        renewing.start()
        self._renewing = renewing  # started, if a signal comes in between

    def _written(self) -> OutputFile | None:
        """Write this process into the lock file, unless that would write to another file.

        That is so where it is a link, or has a second name; then None. Raises as `take`.
        """
        if self._place.is_symlink():
            return None
        if self._place.exists() and not self._place.is_file():  # opening a pipe waits for ever
            raise OutputError(f"{self._place} is not a regular file: remove it")
        with contextlib.ExitStack() as closing:
            file = closing.enter_context(disk.reopen(self._place))
            locks = _lock(file, self._place)
            names = os.fstat(file.fileno()).st_nlink  # before the look: it may lose this one
            try:
                same, content = _look(self._place, file)
            except OSError as error:
                raise OutputError(
                    f"{self._place}: cannot be read: {disk.describe(error)}"
                ) from error
            if not same:  # another process has just replaced it
                return None
            if owner := named(content):
                _refuse_living(owner, self._place, locks=locks)
            if names > 1:
                return None
            if not is_own(content):
                raise OutputError(f"{self._place} holds what no training wrote: move it away")
            self._own = {"host": platform.node(), "pid": os.getpid(), "of": secrets.token_hex(8)}
            file.seek(0)
            file.truncate()
            file.write(written(self._own))
            file.sync()
            closing.pop_all()
        return file

    def check(self) -> None:
        """Raises OutputError if the folder is not this process's any more.

        Another host took it over while this process was suspended, and may have ended since; or
        another folder has its name. It is cheap enough to be asked before every write.
        """
        if self._file is None:
            return
        try:
            same, content = _look(self._place, self._file)
        except OSError:  # for a moment, as with too many open files: the next write looks again
            return
        owner = named(content)
        if owner is not None and owner["of"] != self._own["of"]:
            raise OutputError(
                f"another training took this folder over, {described(owner)}: this one ends, so "
                "that they do not mix"
            )
        if not same or owner is None:
            raise OutputError(
                f"{self._place} is no longer the file that this training holds: its folder was "
                "moved or replaced, or another training was here. This one ends, so that they do "
                "not mix"
            )

    def release(self) -> None:
        """Leave the folder to others."""
        if self._file is None:
            return
        self._ended.set()
        if self._renewing is not None:
            self._renewing.join()
        with contextlib.suppress(OutputError):
            self.check()
            self._file.seek(0)
            self._file.truncate()
        _unlock(self._file)  # closing is not enough where a child of this process has it open, too
        with contextlib.suppress(OutputError):
            self._file.close()
        self._file = None

    def _renew(self, file: OutputFile) -> None:
        while not self._ended.wait(_BEAT):
            with contextlib.suppress(OutputError):
                file.renew()


def is_claimed(place: Path) -> bool:
    """Whether a living process owns the folder of this lock file, as far as can be told."""
    if place.is_symlink() or not place.is_file():
        return False
    locks = False
    if os.name == "posix":
        import fcntl

        try:
            with _opened(place) as file:  # closing it ends the lock, which others wait for
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            locks = True
        except BlockingIOError:
            return True
        except OSError:  # a file system without locks, or not ours to read: the owner decides
            pass
    owner = _owner(place)
    if owner is None:
        return False
    if owner["host"] == platform.node():
        return not locks and _lives(owner["pid"])
    # Nothing is written to a run that is only read: this host's clock has to do. A date in the
    # future may not pass for years: nobody is to wait for it, and `take` says what to do.
    with contextlib.suppress(FileNotFoundError):
        return abs(place.stat().st_mtime - time.time()) < _LEASE
    return False


def _lock(file: OutputFile, place: Path) -> bool:
    """Hold the operating system's lock; False where there is none."""
    if os.name != "posix":
        return False
    import fcntl

    until = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError as error:
            if time.monotonic() > until:
                raise _busy(_owner(place)) from error
        except OSError:  # a file system without locks
            return False
        time.sleep(_LOOK_AGAIN)


def _unlock(file: OutputFile) -> None:
    """End the operating system's lock."""
    if os.name == "posix":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.flock(file.fileno(), fcntl.LOCK_UN)


def _refuse_living(owner: dict[str, Any], place: Path, *, locks: bool) -> None:
    """Raise OutputError unless the owner that a lock file names is dead."""
    if owner["host"] == platform.node():
        if not locks and _lives(owner["pid"]):
            raise _busy(owner)
        return
    age = _age(place)
    if age < -_LEASE:  # a wrong clock set it, and waiting may not help for years
        raise OutputError(
            f"{_busy(owner)}; its last sign of life is dated in the future: if that training has "
            f"ended, remove {place}"
        )
    if age < _LEASE:
        left = math.ceil(_LEASE - age)
        raise OutputError(f"{_busy(owner)}; if that has ended, try again in {left} seconds")


def _age(place: Path) -> float:
    """Seconds since the file was renewed, by the clock of its file system."""
    probe = place.with_name(f"{place.name}.{secrets.token_hex(4)}")
    disk.create(probe).close()
    try:
        return probe.stat().st_mtime - place.stat().st_mtime
    finally:
        disk.remove(probe)


def _lives(process: int) -> bool:
    if os.name != "posix":  # a signal of 0 is Ctrl-C on Windows
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # another user's
        return True
    return True


def _replace(place: Path) -> None:
    """Remove a lock file that is a link or has a second name. Raises OutputError."""
    try:
        with temporary_files.folder_held(place.parent) as alone:  # who is second finds the new file
            found = place.lstat()
            if alone and (stat.S_ISLNK(found.st_mode) or found.st_nlink > 1):
                disk.remove(place)
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"cannot replace {place}: {disk.describe(error)}") from error
    if not alone:
        time.sleep(_LOOK_AGAIN)


def _opened(place: Path) -> IO[bytes]:
    """The lock file itself, to be read: no link is followed, no pipe waited for. Raises OSError."""
    itself = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    return open(place, "rb", opener=lambda name, flags: os.open(name, flags | itself))


def _look(place: Path, file: OutputFile) -> tuple[bool, bytes]:
    """Whether a lock file is the one that is open, and what it holds. Raises OSError."""
    try:
        with _opened(place) as there:
            same = os.path.sameopenfile(there.fileno(), file.fileno())
            return same, there.read(LARGEST)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return False, b""
        raise


def _owner(place: Path) -> dict[str, Any] | None:
    """Who a lock file names; None for nobody."""
    with contextlib.suppress(OSError), _opened(place) as file:
        return named(file.read(LARGEST))
    return None


def _busy(owner: dict[str, Any] | None) -> OutputError:
    who = f": {described(owner)}" if owner else ""
    return OutputError(f"another training writes to this folder{who}")
