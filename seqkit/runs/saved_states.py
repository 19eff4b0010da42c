"""The saved states of a run: which one it goes on from."""

import contextlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seqkit.foundation import disk
from seqkit.foundation.config_file import upgrade
from seqkit.foundation.errors import CheckpointError, UnreadableError
from seqkit.foundation.plugins import Catalogue
from seqkit.runs import checkpoint, resume
from seqkit.runs.checkpoint import Checkpoint, is_whole, peek
from seqkit.runs.layout import RunFiles

_BLOCK = 1 << 20  # bytes
_NO_HEADER = (KeyError, TypeError, ValueError, OverflowError, AttributeError)
"""What a header of another shape than a checkpoint's leads to."""


class Found(NamedTuple):
    """The state that a run goes on from: what it holds, its name, and damaged ones passed over."""

    checkpoint: Checkpoint
    name: str
    damaged: Sequence[Path]


def find_last(files: RunFiles, catalogue: Catalogue, notice: Callable[[str], None]) -> Found | None:
    """The newest whole checkpoint with a training state; None if the run never saved one.

    One that is damaged is passed over, with a notice. Nothing is changed before `settle`.

    Raises:
        CheckpointError: there are some, and all are damaged.
        UnreadableError: one of them, or `best`, cannot be read now, though it may be whole.
    """
    for name in ("best", "previous"):  # which may be replaced, perhaps by worse ones
        _check_readable(files.checkpoint(name))
    damaged: list[tuple[Path, CheckpointError]] = []

    def whole(name: str) -> Checkpoint | None:
        file = files.checkpoint(name)
        if not file.exists():
            return None
        try:
            found = checkpoint.load(file, catalogue, advise=False)
            if found.training is None:
                raise CheckpointError(f"{file}: it holds no training state")
            return found
        except UnreadableError:
            raise
        except CheckpointError as error:
            damaged.append((file, error))
            return None

    waiting, last = whole("next"), whole("last")
    found, name = (last, "last") if last is not None else (whole("previous"), "previous")
    # A kill between the writing of `next` and the end of its renaming leaves it; another program
    # that copied files of the run may have left an old one.
    if waiting is not None and (found is None or _step(waiting) > _step(found)):
        found, name = waiting, "next"
    elif name == "previous" and found is not None and not damaged:
        notice(f"{files.checkpoint('last')} is missing: going on from previous.safetensors")
    if found is None and damaged:
        others = "".join(f"; nor is {file.name} of use" for file, _ in damaged[1:])
        raise CheckpointError(f"the run cannot go on: {damaged[0][1]}{others}")
    for _, reason in damaged:
        notice(f"{reason}; going on from {name}.safetensors")
    return None if found is None else Found(found, name, [file for file, _ in damaged])


def settle(files: RunFiles, found: Found, notice: Callable[[str], None]) -> None:
    """Set aside what a training that goes on from `found` must not replace. Raises OutputError."""
    for file in found.damaged:
        disk.rename(file, files.aside(file.stem, "damaged"))
    if found.name != "previous":
        _keep_previous(files, found.name, _step(found.checkpoint), notice)
    if found.name == "next":  # the run may be finished, and never save again
        take_next(files)


def _check_readable(file: Path) -> None:
    """Raise UnreadableError where a file is there, and not all of it can be read."""
    if not file.is_file():
        return
    try:
        with file.open("rb") as stream:
            while stream.read(_BLOCK):
                pass
    except OSError as error:
        raise UnreadableError(f"{file}: cannot be read: {disk.describe(error)}") from error


def _keep_previous(files: RunFiles, name: str, step: int, notice: Callable[[str], None]) -> None:
    """Set aside what the next save, or validation, must not replace by what comes after `name`.

    These are a `previous` that is damaged, and one of a later step, together with a `best` of a
    later step. Alone such a `best` is left: a kill between the two saves of a step leaves one, and
    the training comes to that step again.
    """
    previous, best = files.checkpoint("previous"), files.checkpoint("best")
    header = peek(previous)
    if header is None and previous.is_file():
        kept = files.aside("previous", "damaged")
        disk.rename(previous, kept)
        notice(f"{previous} is damaged: it is kept as {kept}")
    newer = {file: _step_in(peek(file) or {}) for file in (previous, best)}
    if newer[previous] <= step:
        return
    for file in [file for file in newer if newer[file] > step]:
        kept = files.aside(file.stem, "newer")
        disk.rename(file, kept)
        notice(
            f"going on from {name}.safetensors, of step {step}, though {file.name} is of step "
            f"{newer[file]}: it is kept as {kept}"
        )


def keep_best(files: RunFiles, new: Checkpoint, notice: Callable[[str], None]) -> None:
    """Keep the `best` that `new` is to replace, unless `new` is known to be the better one.

    It is not if their losses cannot be compared, nor if the one there has the smaller loss, or is
    of a later step: a kill between the two saves of a step leaves one that the training does not
    know of, and to which it may never come again. Raises OutputError.
    """
    best = files.checkpoint("best")
    old, step = peek(best) or {}, _step(new)
    before = _step_in(old)
    with contextlib.suppress(*_NO_HEADER):
        if before < 0 or (before <= step and _is_better(new, old)):
            return
    kept = files.aside("best", "older")
    disk.keep_as(best, kept)
    notice(
        f"the best checkpoint so far, of step {before}, may be better than that of step {step}: "
        f"it is kept as {kept}"
    )


def _is_better(new: Checkpoint, old: Mapping[str, Any]) -> bool:
    """Whether a checkpoint is as good as another one of its run, given by its header, or better.

    Raises one of _NO_HEADER.
    """
    if old.get("format") != checkpoint.FORMAT:
        return False
    scored = old["metrics"].get("scored")  # None before 0.2.0: all of the part
    if scored not in (None, new.metrics.get("scored")) or not resume.have_same_parts(
        upgrade(old["config"]), old["data"], new.config, new.data
    ):
        return False
    loss, before = (at.get("best_validation_loss") for at in (new.metrics, old["metrics"]))
    return loss is None or before is None or bool(loss <= before)


def has_best(files: RunFiles, step: int) -> bool:
    """Whether `best` is there and whole, of the step that was the best or a later one."""
    best = files.checkpoint("best")
    return _step_in(peek(best) or {}) >= step and is_whole(best)


def _step_in(header: Mapping[str, Any]) -> int:
    """The step that a checkpoint's header names; -1 where it names none."""
    try:
        return int(header["metrics"]["step"])
    except _NO_HEADER:
        return -1


def _step(saved: Checkpoint) -> int:
    return int(saved.metrics.get("step") or 0)


def take_next(files: RunFiles, check: Callable[[], object] = lambda: None) -> None:
    """Make `next` the last checkpoint; `check` may refuse, as the process may be suspended here.

    Raises OutputError.
    """
    place = files.checkpoints
    if files.checkpoint("last").exists():
        disk.rename_within(place, "last.safetensors", "previous.safetensors", check)
    disk.rename_within(place, "next.safetensors", "last.safetensors", check)
