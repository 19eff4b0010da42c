"""The saved states of a run: which one it goes on from."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from seqkit import disk
from seqkit.errors import CheckpointError, UnreadableError
from seqkit.plugins import Catalogue
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint, is_whole, peek
from seqkit.runs.layout import RunFiles

_BLOCK = 1 << 20  # bytes


def load_last(
    files: RunFiles, catalogue: Catalogue, notice: Callable[[str], None]
) -> Checkpoint | None:
    """The newest whole checkpoint with a training state; None if the run never saved one.

    One that is damaged is passed over and set aside, with a notice.

    Raises:
        CheckpointError: there are some, and all are damaged.
        UnreadableError: one of them, or `best`, cannot be read now, though it may be whole: nothing
            is changed.
    """
    _check_readable(files.checkpoint("best"))  # or it would be made anew, perhaps a worse one
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
    takes_next = waiting is not None and (found is None or _step(waiting) > _step(found))
    if takes_next:
        found, name = waiting, "next"
    elif name == "previous" and found is not None and not damaged:
        notice(f"{files.checkpoint('last')} is missing: going on from previous.safetensors")
    if found is None and damaged:
        others = "".join(f"; nor is {file.name} of use" for file, _ in damaged[1:])
        raise CheckpointError(f"the run cannot go on: {damaged[0][1]}{others}")
    if found is not None and name in ("next", "last"):
        _keep_previous(files, name, _step(found), notice)
    for file, reason in damaged:
        notice(f"{reason}; going on from {name}.safetensors")
        disk.rename(file, files.aside(file.stem, "damaged"))
    if takes_next:  # the run may be finished, and never save again
        take_next(files)
    return found


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
    """Set aside a `previous` that the next save must not replace: it may be worth more than `name`.

    So it is if it is of a later step; a `best` of a later step goes with it. Alone such a `best` is
    left: a kill between the two saves of a step leaves one, and the training comes to it again. So
    it is, too, if it cannot be read.
    """
    previous, best = files.checkpoint("previous"), files.checkpoint("best")
    header = peek(previous)
    if header is None and previous.is_file():
        kept = files.aside("previous", "damaged")
        disk.rename(previous, kept)
        notice(f"{previous} is damaged, or cannot be read: it is kept as {kept}")
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


def keep_best(
    files: RunFiles,
    new: Checkpoint,
    *,
    first: bool,
    notice: Callable[[str], None],
    check: Callable[[], object],
) -> None:
    """Set aside a `best` that is not known to be worse than `new`, which takes its place.

    So it is if `new` is the `first` one that was judged in its way, or is not judged at all, and if
    the other one is of a later step, to which the training may never come again. `check` may
    refuse, see `take_next`. Raises OutputError.
    """
    before = peek(files.checkpoint("best")) or {}
    old, step = _step_in(before), _step(new)
    unjudged = _loss_in(before) is not None and new.metrics.get("best_validation_loss") is None
    if old in (-1, step) or not (first or unjudged or old > step):
        return
    kept = files.aside("best", "older")
    disk.rename_within(files.checkpoints, "best.safetensors", kept.name, check)
    notice(
        f"the best checkpoint so far, of step {old}, cannot be compared with that of step {step}: "
        f"it is kept as {kept}"
    )


def has_best(files: RunFiles, step: int) -> bool:
    """Whether `best` is there and whole, of the step that was the best or a later one."""
    best = files.checkpoint("best")
    return _step_in(peek(best) or {}) >= step and is_whole(best)


def _step_in(header: Mapping[str, Any]) -> int:
    """The step that a checkpoint's header names; -1 where it names none."""
    try:
        return int(header["metrics"]["step"])
    except (KeyError, TypeError, ValueError, OverflowError):
        return -1


def _loss_in(header: Mapping[str, Any]) -> object:
    """The best loss that a checkpoint's header names, whatever it is; None without one."""
    metrics = header.get("metrics")
    return metrics.get("best_validation_loss") if isinstance(metrics, dict) else None


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
