"""Run by torchrun: the command, whose second process dies while the first writes a checkpoint."""

import itertools
import os
import signal
import threading
import time
from pathlib import Path
from typing import IO

from seqkit import cli
from seqkit.foundation import disk
from seqkit.foundation.processes import own_rank

MARK = "SEQKIT_TEST_MARK"
"""The variable that names the file by which the first tells the second that it writes."""
_WHOLE = 2  # checkpoints that are written in peace

_open = disk.open_file
_opened = itertools.count()


def open_file(path: Path, mode: str) -> IO[bytes]:
    """Open a file; a checkpoint stays open, half written, until the other process is dead."""
    stream = _open(path, mode)
    if path.name.startswith(".last.") and next(_opened) >= _WHOLE:
        stream.write(b"half")
        stream.seek(0)
        Path(os.environ[MARK]).touch()
        time.sleep(1)
    return stream


def die() -> None:
    """Wait for the mark, and end as by kill -9."""
    while not Path(os.environ[MARK]).exists():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    if own_rank().leads:
        disk.open_file = open_file
    else:
        threading.Thread(target=die, daemon=True).start()
    cli.entry()
