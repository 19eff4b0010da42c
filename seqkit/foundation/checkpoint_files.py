"""What the checkpoints of a run are called, and how they are told from those of other programs."""

from pathlib import Path

SUFFIX = ".safetensors"
SAVED = ("best", "last", "previous", "next")
"""Names without it, that of the one to take first before the others."""
MARK, HEAD = b'"seqkit":', 256
"""What a checkpoint has among its first bytes, of which there are so many at most."""


def may_be_checkpoint(file: Path) -> bool:
    """Whether what has the name of a checkpoint is one of seqkit's: it begins as one does.

    Other programs have files of this name. One that cannot be read, or lost all its content to a
    power failure, may have been one.
    """
    if not file.is_file():  # a pipe might never open
        return False
    try:
        with file.open("rb") as stream:
            begin = stream.read(HEAD)
    except OSError:
        return True
    return MARK in begin or not begin.strip(b"\0")
