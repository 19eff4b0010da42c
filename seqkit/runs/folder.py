"""The folder of one training: who may write to it, and how its files are kept.

The process that holds the operating system's lock on a file in it owns it. A lock ends with its
process. A file system may have none, and on a network one may count on its own host only.
"""

import contextlib
import dataclasses
import fcntl
import itertools
import json
import os
import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from seqkit.config import Config
from seqkit.foundation import disk
from seqkit.foundation.errors import OutputError
from seqkit.foundation.run_folders import RunFiles, is_run
from seqkit.foundation.wording import first_of
from seqkit.runs.checkpoint import Checkpoint

_PATIENCE = 0.2  # seconds for which another process may hold the lock only to look at it
_PAUSE = 0.01  # seconds between two attempts


class RunFolder(RunFiles):
    """One run's files, and what a training does with them. Nothing is made before `make`."""

    def __init__(self, path: Path, timed: bool = False) -> None:
        """The folder `path`; a `timed` one gets a number when it is made, if it is taken."""
        super().__init__(path)
        self._timed = timed
        self._handle: int | None = None  # of the lock, while this process owns the folder
        self.is_begun = False
        """Whether the run in it is that of this process, and no earlier one."""

    @classmethod
    def asked_for(cls, config: Config) -> "RunFolder":
        """The folder `run_dir`, or else a new one RUNS/RECIPE/TIME."""
        if config.run_dir:
            return cls(Path(config.run_dir))
        recipe = Path(config.runs) / (config.recipe or "")
        return cls(recipe / time.strftime("%Y-%m-%d_%H-%M-%S"), timed=True)

    @property
    def holds_run(self) -> bool:
        """Whether there is a run to go on with, or to replace; a timed folder is always new."""
        return not self._timed and is_run(self.path)

    @property
    def finished_at(self) -> int | None:
        """The step at which the run in this folder came to its end, if it did."""
        try:
            return int(json.loads(self.summary.read_bytes())["steps"])
        except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
            return None

    def check_writable(self) -> None:
        """Raise OutputError where no folder can be: before any work is done in vain."""
        try:
            there = next(place for place in (self.path, *self.path.parents) if place.exists())
        except (OSError, ValueError) as error:
            raise OutputError(f"run_dir={self.path}: no such name can be: {error}") from error
        if not there.is_dir():
            raise OutputError(f"run_dir={self.path}: {there} is a file, not a folder")
        if not os.access(there, os.W_OK):
            raise OutputError(f"run_dir={self.path}: no folder can be made in {there}")

    def check_new(self, *, overwrite: bool) -> None:
        """Look whether a run may begin here.

        Raises OutputError where it would replace another one unasked, and where the folder is
        somebody's.
        """
        if self._timed:
            return
        if self.holds_run:
            if not overwrite:
                raise OutputError(
                    f"run_dir={self.path} holds a run: resume=auto goes on with it, "
                    "overwrite=true replaces it"
                )
        elif others := self._others():
            free = next(path for path in _numbered(self.path / "run") if not path.exists())
            raise OutputError(
                f"run_dir={self.path}: this folder holds other things ({first_of(others)}): give a "
                f"new or an empty one, such as {shlex.quote(f'run_dir={free}')}"
            )

    def _others(self) -> list[str]:
        """What is here, if there is no run; hidden files and empty folders may be."""
        shown = self.path.glob("[!.]*")
        return sorted(p.name for p in shown if not p.is_dir() or any(p.glob("[!.]*")))

    @contextlib.contextmanager
    def claimed(self) -> Iterator[None]:
        """Keep other trainings out, from the first look at the run until the block ends.

        A folder without a run is locked by `make`. Raises OutputError if it is another's.
        """
        try:
            if self.holds_run:
                self._acquire()
            yield
        finally:
            if self._handle is not None:
                os.close(self._handle)
                self._handle = None

    def make(self) -> None:
        """Make the folder, within `claimed`.

        Raises OutputError: the folder cannot be written, or another training was here meanwhile.
        """
        try:
            if self._timed:
                super().__init__(make_numbered(self.path))
                self._timed = False
            for folder in (self.path, self.samples, self.checkpoints):
                disk.make_folder(folder)
        except OutputError as error:
            raise OutputError(f"run_dir={self.path}: {error}") from error
        if self._handle is None:
            self._acquire()
            if self.holds_run:
                raise OutputError(f"run_dir={self.path}: another training was here: start again")

    def _acquire(self) -> None:
        """Own the folder, and clear away what a run that was killed left half written.

        Nobody else writes checkpoints; reports and samples others may be writing now.
        """
        self._handle = take_lock(self.lock)
        disk.clear_halves(self.checkpoints.absolute(), age=0)
        for folder in (self.path, self.samples):
            disk.clear_halves(folder.absolute())

    def clear(self) -> None:
        """Remove what an earlier run left, and nothing else."""
        if self.holds_run:
            for file in self.written:
                disk.remove(file)

    def write_json(self, file: Path, values: dict[str, Any]) -> None:
        """Write about.json, or summary.json, which marks a run as finished. Raises OutputError."""
        disk.write(file, (json.dumps(values, indent=2) + "\n").encode())

    def complete(self, file: Path, later: dict[str, Any]) -> None:
        """Put what is known last into one of these. Raises OutputError, also if it is gone."""
        try:
            known = json.loads(file.read_bytes())
        except (OSError, ValueError) as error:
            raise OutputError(f"{file}: cannot be read: {error}") from error
        self.write_json(file, {**known, **later})

    def reopen(self, step: int) -> None:
        """Take back what was recorded after `step`, to go on from there; and damaged lines."""
        kept = []
        try:
            lines = self.metrics.read_bytes().splitlines() if self.metrics.exists() else []
        except OSError as error:
            raise OutputError(f"{self.metrics}: cannot be read: {disk.describe(error)}") from error
        for line in lines:
            with contextlib.suppress(ValueError, KeyError, TypeError, RecursionError):
                if json.loads(line)["step"] <= step:
                    kept.append(line + b"\n")
        if lines:
            disk.write(self.metrics, b"".join(kept))
        disk.remove(self.summary)

    def save(self, saved: Checkpoint) -> None:
        """Make `saved` the last checkpoint and keep the one before it.

        The new file is whole before the others are touched. One of the two is always there.

        Raises OutputError: it cannot be written.
        """
        saved.save(self.checkpoint("last"), self._keep_last)

    def _keep_last(self) -> None:
        last = self.checkpoint("last")
        if last.exists():
            disk.rename(last, self.checkpoint("previous"))

    def save_best(self, saved: Checkpoint) -> None:
        """Keep what generation needs of the best checkpoint. Raises as `save`."""
        best = dataclasses.replace(saved, training=None, training_tensors={})
        best.save(self.checkpoint("best"))


def make_numbered(base: Path) -> Path:
    """Make the folder `base`, or the first of base_2, base_3 … that is free. Raises OutputError."""
    return next(path for path in _numbered(base) if disk.make_folder(path))


def _numbered(base: Path) -> Iterator[Path]:
    """The folders base, base_2, base_3 …"""
    yield base
    yield from (base.with_name(f"{base.name}_{number}") for number in itertools.count(2))


def take_lock(file: Path) -> int:
    """A handle that owns the folder of a lock file until it is closed.

    Raises OutputError if another process owns it, or none can.
    """
    try:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        reason = disk.describe(error)
        raise OutputError(f"run_dir={file.parent}: {file} cannot be locked: {reason}") from error
    if _is_refused(handle, fcntl.LOCK_EX):
        os.close(handle)
        raise OutputError(f"run_dir={file.parent}: another training writes to this folder")
    return handle


def is_locked(file: Path) -> bool:
    """Whether a living process owns the folder of this lock file."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:  # none is there, or not ours to read
        return False
    try:
        return _is_refused(handle, fcntl.LOCK_SH)
    finally:
        os.close(handle)


def _is_refused(handle: int, kind: int) -> bool:
    """Lock an open file, if another process does not; whether one does."""
    ends = time.monotonic() + _PATIENCE
    while True:
        try:
            fcntl.flock(handle, kind | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            if time.monotonic() >= ends:
                return True
            time.sleep(_PAUSE)
        except OSError:  # there are no locks
            return False
