"""The expected failures, each with the exit code of the process that meets it.

A message is one or two lines and tells what went wrong, where, and what to do about it.
"""

from typing import ClassVar


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


class DeviceError(SeqkitError):
    """A device that is absent, or memory that does not suffice."""

    exit_code = 5


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
    """Ctrl-C during the training; its state is saved."""

    exit_code = 130
