"""What no command writes over, whatever it is asked to: a run's own files, and checkpoints."""

import contextlib
import os
from pathlib import Path

from seqkit.errors import OutputError
from seqkit.runs import own_config
from seqkit.runs.layout import RunFiles

_MARK, _HEAD = b'"seqkit":', 256  # a checkpoint has it among its first bytes, so many at most


def refuse(out: Path) -> None:
    """Refuse a file or folder that is, or would be, one of these, links followed.

    A run's samples may be written over, and so may what is not a run's in its folder.

    Raises:
        OutputError: it is one of these.
    """
    if run := _run_of(out):
        what = f"one of the files of the run {run}"
    elif _is_checkpoint(out):
        what = "a checkpoint"
    else:
        return
    raise OutputError(f"out={out} is {what}: give another name; overwrite does not help")


def _run_of(out: Path) -> Path | None:
    """The folder of the run that `out` is, or would be, one of the own files of."""
    with contextlib.suppress(OSError, ValueError):  # a name that cannot be
        named = Path(os.path.realpath(out.parent), out.name)  # a link may be replaced, or followed
        for place in (named, Path(os.path.realpath(out))):
            for folder in place.parents:
                name = place.relative_to(folder).parts[0]
                # Some file systems do not distinguish between capital and small letters.
                if name.lower() in _own_names() and _is_run(RunFiles(folder)):
                    return folder
    return None


def _is_run(files: RunFiles) -> bool:
    """Whether it is seqkit's: other programs, too, have a folder called checkpoints."""
    return files.has_checkpoints or own_config.is_a_runs(files.config)


def _own_names() -> set[str]:
    """What a run's own files and folders are called."""
    run = RunFiles(Path())
    texts = (run.config, run.about, run.metrics, run.summary, run.report, run.log, run.lock)
    return {path.name for path in (*texts, run.checkpoints, run.tensorboard)}


def _is_checkpoint(file: Path) -> bool:
    """Whether a file begins as a checkpoint does, damaged or not."""
    with contextlib.suppress(OSError, ValueError):
        if file.is_file():
            with file.open("rb") as stream:
                return _MARK in stream.read(_HEAD)
    return False
