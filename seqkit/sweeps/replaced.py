"""The runs that a sweep with `overwrite=true` replaces, each kept until the new one has begun.

Before the first job the old runs are moved to `.replacing/` in the sweep's folder, which then is
renamed to `.replaced/`. What lies in `.replacing/` was left by a sweep that was killed before its
first job: the next one moves it back. What lies in `.replaced/N` is removed once `N/config.yaml`
is there, which a training writes when it is set up, and moved back if job N ended without it. Of a
sweep that was stopped or killed it stays, so that nothing old passes for a run of the sweep that
goes on; one that does not go on moves it back.

The study of a search goes with them, so that it never speaks of runs that are gone. It is removed
once one of the new runs has begun, and moved back after the old runs if none did.

Moved is only what trainings left, `config.yaml` first, and back last: as long as a folder has
none, the run in it is not a new one.
"""

import contextlib
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from seqkit.foundation import disk
from seqkit.foundation.errors import OutputError
from seqkit.runs import earlier, own_names, protected
from seqkit.runs.folder import RunFolder
from seqkit.runs.layout import REPLACED, RunFiles
from seqkit.sweeps.jobs import SEARCH

_REPLACING = ".replacing"


def set_aside(folder: Path, numbers: Iterable[int]) -> None:
    """Move the runs with these numbers, and the study of a search, out of the way of a sweep's own.

    A run in which another process trains stays, and its job finds out.

    Raises:
        OutputError: they cannot be moved; all are where they were.
    """
    moving = folder / _REPLACING
    _require_no_link(moving, folder / REPLACED)
    try:
        for number in numbers:
            run = RunFolder(folder / str(number))
            if run.is_used and not run.is_claimed:
                with run.claimed():
                    _move(reversed(run.files.written), run.path, moving / run.path.name)
        if _has_study(folder):
            _move([folder / SEARCH], folder, moving)
        if moving.exists():
            disk.rename(moving, folder / REPLACED)
    except OutputError as error:
        raise OutputError(f"{error}: the runs there stay: give another run_dir") from error
    finally:
        undo_unfinished(folder)


def settle(run: Path, notice: Callable[[str], None]) -> None:
    """Remove the run that a job replaced; or move it back, if the job ended before it began.

    Where the new run has begun, the study of the search before goes, too.

    Raises OutputError where it cannot be moved.
    """
    old = RunFiles(run).replaced
    if old.is_dir():
        _settle(old, run, notice)
    elif _has_begun(run):
        _require_no_link(old.parent)
        disk.remove(old.parent / SEARCH)


def settle_begun(folder: Path) -> list[str]:
    """Remove the runs that were replaced, and name those that still are to be."""
    waiting = []
    for old in _numbered(folder / REPLACED):
        if _has_begun(folder / old.name):
            _remove(old)
        else:
            waiting.append(old.name)
    return waiting


def put_in_place(folder: Path, notice: Callable[[str], None]) -> None:
    """Settle all that a sweep has set aside. Raises as `settle`."""
    undo_unfinished(folder)
    for old in _numbered(folder / REPLACED):
        _settle(old, folder / old.name, notice)
    _move_back_study(folder / REPLACED)  # still there if none of the new runs has begun
    _remove_empty(folder / REPLACED)


def undo_unfinished(folder: Path) -> None:
    """Move back what was being set aside. Raises as `settle`.

    Where another training has begun since, it is kept beside what that training makes.
    """
    for old in _numbered(folder / _REPLACING):
        run = folder / old.name
        _move(RunFiles(old).written, old, earlier.free(RunFiles(run)) if _has_begun(run) else run)
    _move_back_study(folder / _REPLACING)
    _remove_empty(folder / _REPLACING)


def _settle(old: Path, run: Path, notice: Callable[[str], None]) -> None:
    _require_own(old)
    if _has_begun(run):
        _remove(old)
        return
    _move(RunFiles(old).written, old, run)
    _remove_empty(old)
    notice(f"{run}: the earlier run is kept, since the new one did not begin")


def _remove(old: Path) -> None:
    """Remove a run whose new one has begun, and with it the study of its search; nothing else."""
    files = RunFiles(old).written
    if files:  # else it was just moved back, and no new one has begun
        disk.remove(old.parent / SEARCH)
    for file in files:
        disk.remove(file)
    _remove_empty(old)


def _has_study(folder: Path) -> bool:
    """Whether a sweep's folder has the study of a search, and no user's file of its name."""
    file = folder / SEARCH
    with contextlib.suppress(OSError):
        return file.is_file() and protected.is_study(file)
    return False


def _move_back_study(aside: Path) -> None:
    """Move the study of a search back, in the place of the one that followed it."""
    _require_no_link(aside)
    if (aside / SEARCH).exists():
        disk.rename(aside / SEARCH, aside.parent / SEARCH)


def _move(files: Iterable[Path], source: Path, target: Path) -> None:
    """Move files of a run; what the target has stays. Raises OutputError."""
    for file in files:
        place = target / file.relative_to(source)
        disk.make_folder(place.parent)
        if not os.path.lexists(place):
            disk.rename(file, place)


def _has_begun(run: Path) -> bool:
    return RunFiles(run).config.is_file()


def _numbered(folder: Path) -> list[Path]:
    """The runs that were set aside, by their numbers. Raises OutputError as `_require_own`."""
    found = [place for place in folder.glob("*") if place.name.isdecimal()]
    for old in found:
        _require_own(old)
    return sorted(found, key=lambda place: int(place.name))


def _require_own(old: Path) -> None:
    """Raise OutputError where a link leads from a run that was set aside to another folder."""
    _require_no_link(old.parent, old)
    own_names.require(RunFiles(old))


def _require_no_link(*folders: Path) -> None:
    for folder in folders:
        if folder.is_symlink():
            raise OutputError(f"{folder} is a link, and no folder of this sweep: remove it")


def _remove_empty(folder: Path) -> None:
    """Remove a folder in which there are no files."""
    if all(place.is_dir() for place in folder.rglob("*")):
        disk.remove_folder(folder)
