"""What no command writes over: a run's own files, a sweep's, checkpoints, studies, shards."""

import contextlib
import os
import re
from pathlib import Path

from seqkit.data.shards import index
from seqkit.foundation import checkpoint_files
from seqkit.foundation.errors import OutputError
from seqkit.runs import owner
from seqkit.runs.known import is_used
from seqkit.runs.layout import RunFiles

_STUDY = b'"op_code":'
_MARKS = {
    checkpoint_files.MARK: "a checkpoint",
    _STUDY: "the study of a search",
    index.MARK: "an index of shards",
}
_LOG = re.compile(r"\d+\.log")


def refuse(out: Path) -> None:
    """Refuse a file or folder that is, or would be, one of these, links followed.

    A run's samples may be written over, and so may what is not a run's in its folder.

    Raises:
        OutputError: it is one of these.
    """
    if run := _run_of(out):
        what = f"one of the files of the run {run}"
    elif sweep := _sweep_of(out):
        what = f"one of the files of the sweep {sweep}"
    elif not (what := _marked(out) or _of_shards(out)):
        return
    raise OutputError(f"out={out} is {what}: give another name; overwrite does not help")


def is_study(file: Path) -> bool:
    """Whether a file is the study of a search: damaged, or only begun when its writer was killed.

    Raises OSError where it cannot be read.
    """
    head = _head(file).rstrip(b"\0")  # after a power loss
    return _STUDY in head or (b"{" + _STUDY).startswith(head)


def _run_of(out: Path) -> Path | None:
    """The folder of the run that `out` is, or would be, one of the own files of."""
    with contextlib.suppress(OSError, ValueError):  # a name that cannot be
        for place in _places(out):
            for folder in place.parents:
                name = place.relative_to(folder).parts[0]
                # Some file systems do not distinguish between capital and small letters.
                if name.lower() in _own_names() and is_used(RunFiles(folder)):
                    return folder
    return None


def _sweep_of(out: Path) -> Path | None:
    """The folder of the sweep that `out` is the lock, or a job's log, of."""
    with contextlib.suppress(OSError, ValueError):  # a name that cannot be
        for place in _places(out):
            if _LOG.fullmatch(place.name.lower()):
                runs = [place.with_suffix("")]
            elif place.name.lower() == RunFiles(place.parent).lock.name:
                if place.is_file() and _is_claim(_head(place)):
                    return place.parent
                runs = [run for run in place.parent.iterdir() if run.name.isdecimal()]
            else:
                continue
            if any(is_used(RunFiles(run)) for run in runs):
                return place.parent
    return None


def _is_claim(head: bytes) -> bool:
    return bool(head.strip(b"\0")) and owner.is_own(head)


def _of_shards(out: Path) -> str:
    """What `out` is, or would be, among shards, which are known by their names beside an index."""
    with contextlib.suppress(OSError, ValueError):  # a name that cannot be
        if any(map(index.is_of_shards, _places(out))):
            return "one of the files of shards"
    return ""


def _places(out: Path) -> tuple[Path, Path]:
    """Where `out` lies, and where it leads to: a link may be replaced, or followed."""
    return Path(os.path.realpath(out.parent), out.name), Path(os.path.realpath(out))


def _own_names() -> set[str]:
    """What a run's own files and folders are called."""
    run = RunFiles(Path())
    texts = (run.config, run.about, run.metrics, run.summary, run.report, run.log, run.lock)
    return {path.name for path in (*texts, run.checkpoints, run.tensorboard)}


def _marked(file: Path) -> str:
    """What a file is by how it begins, damaged or not."""
    with contextlib.suppress(OSError, ValueError):
        if file.is_file():
            head = _head(file)
            return next((what for mark, what in _MARKS.items() if mark in head), "")
    return ""


def _head(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(checkpoint_files.HEAD)
