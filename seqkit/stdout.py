"""stdout, which may be full, read by nobody any more, or closed from the beginning."""

import contextlib
import os
import sys
from collections.abc import Iterator

from seqkit import disk
from seqkit.errors import OutputError


@contextlib.contextmanager
def failures() -> Iterator[None]:
    """What is written to stdout in the block may fail: nothing more is written after that.

    Raises:
        BrokenPipeError: whoever read it has enough.
        OutputError: it cannot be written.
    """
    try:
        yield
    except BrokenPipeError:
        discard()
        raise
    except OSError as error:
        discard()
        raise OutputError(f"cannot write stdout: {disk.describe(error)}") from error


def discard() -> None:
    """Send nowhere what is still to come, and what Python flushes at its exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def is_open() -> bool:
    """Whether there is one: Python has none where it was closed before the program began."""
    return sys.stdout is not None


def check() -> None:
    """Raise OutputError where there is none: before any work is done in vain."""
    if not is_open():
        raise OutputError("stdout is closed (>&-), and the result goes there: leave it open")


def write(text: str) -> None:
    """Write a text and a newline. Raises as `check` and `failures`."""
    check()
    with failures():
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()
