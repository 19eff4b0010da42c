"""Where a run's checkpoints lie, and so whether a folder holds a run."""

from pathlib import Path

SUFFIX = ".safetensors"
FOLDER = "checkpoints"
STATES = ("last", "previous")
"""Checkpoints with the state of their training, the newest first."""
SAVED = ("best", *STATES)
"""Names of a run's checkpoints, that of the one to take first before the others."""
MARK, HEAD = b'"seqkit":', 256
"""A checkpoint has this mark among so many first bytes."""


def is_run(folder: Path) -> bool:
    """Whether a folder holds a run: one of seqkit's checkpoints, damaged or not.

    A training saves its state before its first step, so every run has one.
    """
    try:
        return any(_is_ours(folder / FOLDER / f"{name}{SUFFIX}") for name in SAVED)
    except (OSError, ValueError):  # a name that cannot be
        return False


def _is_ours(file: Path) -> bool:
    """Whether a file begins as a checkpoint does; other programs, too, have files of its name.

    One that cannot be read, or lost all its content to a power failure, may have been one.
    """
    if not file.is_file():  # a pipe might never open
        return False
    try:
        with file.open("rb") as stream:
            begin = stream.read(HEAD)
    except OSError:
        return True
    return MARK in begin or not begin.strip(b"\0")
