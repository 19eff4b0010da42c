"""One process at a time writes shards to a folder."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from seqkit.foundation.errors import OutputError


@contextlib.contextmanager
def lock(folder: Path, *, wait: bool) -> Iterator[None]:
    """Keep a folder for this process, or `wait` until another one is done with it.

    Raises:
        OutputError: another process has it.
    """
    handle = os.open(folder, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a file system without locks
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            except BlockingIOError as error:
                raise OutputError(f"{folder}: another process prepares data in it") from error
        yield
    finally:
        os.close(handle)
