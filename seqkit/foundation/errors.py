"""The expected failures, each with the exit code of the process that meets it.

A message is one or two lines and tells what went wrong, where, and what to do about it.
"""

import contextlib
import os
import traceback
from collections.abc import Iterator
from typing import ClassVar

NOT_BEGUN = "it had not begun; the same command begins it"
"""What is said of a command that ended before it had written anything."""
_TRACEBACK = "SEQKIT_TRACEBACK"


class SeqkitError(Exception):
    """An expected failure: reported as one or two lines on stderr, never as a traceback."""

    exit_code: ClassVar[int] = 1


class ConfigError(SeqkitError):
    """A key, a type, a range or a use of the command line that cannot be accepted."""

    exit_code = 2


class DataError(SeqkitError):
    """Data that is missing, damaged, too short or not of the kind that was named."""

    exit_code = 3


class CheckpointError(SeqkitError):
    """A checkpoint that is missing, damaged, foreign or does not fit."""

    exit_code = 4


class UnreadableError(CheckpointError):
    """A checkpoint that may well be whole, but cannot be read here and now."""


class DeviceError(SeqkitError):
    """A device that is absent, or memory that does not suffice."""

    exit_code = 5


class LostProcessError(DeviceError):
    """Another process of the same command has ended, or failed."""


class OutputError(SeqkitError):
    """A file or folder that cannot be written, or that would be overwritten unasked."""

    exit_code = 6


class DivergedError(SeqkitError):
    """A loss that is no longer a finite number."""

    exit_code = 7


class StoppedError(SeqkitError):
    """A signal asked the command to stop; a training's state, or what was made, is saved."""

    exit_code = 75


class InterruptedRunError(SeqkitError):
    """Ctrl-C during something that can go on where it stopped: its state is saved."""

    exit_code = 130


class InsistedInterrupt(KeyboardInterrupt):
    """A second signal, after one that a training was already ending for: it is to end at once."""


def expected(error: OSError | MemoryError) -> SeqkitError:
    """An operating system's error as one of ours."""
    if isinstance(error, MemoryError):
        return DeviceError("out of memory: try a smaller train.batch_size or model.hidden_size")
    return OutputError(f"{error.filename or 'input or output'}: {error.strerror or error}")


def shows_tracebacks() -> bool:
    """Whether the user asked for the traceback of every failure: SEQKIT_TRACEBACK=1."""
    return os.environ.get(_TRACEBACK, "0") not in ("", "0")


def of_plugin(error: BaseException) -> str:
    """An error in somebody else's code, in a line: what it says, and where in that code it was."""
    said = str(error).strip().partition("\n")[0]
    words = f"{type(error).__name__}: {said}" if said else type(error).__name__
    place = _place(error)
    if place and not shows_tracebacks():
        place += f"; {_TRACEBACK}=1 shows the whole traceback"
    return words + place


@contextlib.contextmanager
def failures_of(what: str) -> Iterator[None]:
    """Raise DataError, which names `what` of somebody else's, for an error that is not seqkit's."""
    try:
        yield
    except SeqkitError:
        raise
    except (Exception, SystemExit) as error:
        raise DataError(f"{what} failed: {of_plugin(error)}") from error


def _place(error: BaseException) -> str:
    """The last line of the first code in the traceback that is neither seqkit's nor Python's."""
    frames = []
    for frame, line in traceback.walk_tb(error.__traceback__):
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in ("seqkit", "importlib"):
            frames.append((package, f"{frame.f_code.co_filename}, line {line}"))
    places = [place for package, place in frames if package == frames[0][0]]
    return f" ({places[-1]})" if places else ""
