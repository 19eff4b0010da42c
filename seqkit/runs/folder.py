"""The folder of one training run: its files, and who may write to it.

config.yaml  metrics.jsonl  summary.json  log  samples/
checkpoints/{last,previous,best}.safetensors
"""

import contextlib
import dataclasses
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from seqkit import disk
from seqkit.config import Config
from seqkit.errors import CheckpointError, OutputError
from seqkit.plugins import Catalogue
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint

_FOLDERS = ("samples", "checkpoints")
_LEFT_BY_A_RUN = (
    *("config.yaml", "metrics.jsonl", "summary.json", "log"),
    *("samples/step_*", "samples/final.*", "checkpoints/*.safetensors"),
)


class RunFolder:
    """One run's files. Nothing is made before `open`."""

    def __init__(self, path: Path, timed: bool = False) -> None:
        """The folder `path`; a `timed` one gets a number when it is made, if it is taken."""
        self.path = path
        self._timed = timed

    @classmethod
    def timed(cls, runs: Path, recipe: str) -> "RunFolder":
        """A new folder RUNS/RECIPE/TIME."""
        return cls(runs / recipe / time.strftime("%Y-%m-%d_%H-%M-%S"), timed=True)

    @property
    def holds_run(self) -> bool:
        """Whether a training wrote to this folder before."""
        return (self.path / "config.yaml").exists() and self._checkpoints.is_dir()

    @property
    def finished(self) -> bool:
        """Whether the run in this folder came to its end."""
        return (self.path / "summary.json").exists()

    def check_free(self) -> None:
        """Raises OutputError where no folder can be: before any work is done in vain."""
        for place in (self.path, *self.path.parents):
            if place.exists():
                if not place.is_dir():
                    raise OutputError(f"run_dir={self.path}: {place} is a file, not a folder")
                if not os.access(place, os.W_OK | os.X_OK):
                    raise OutputError(f"run_dir={self.path}: no right to write in {place}")
                return

    def stamp(self) -> tuple[bool, int]:
        """What changes when another training works in this folder."""
        last = self._file("last")
        return self.holds_run, last.stat().st_mtime_ns if last.exists() else 0

    @contextlib.contextmanager
    def open(self, stamp: tuple[bool, int]) -> Iterator[None]:
        """Make the folder and hold its lock: two trainings never write to one folder.

        Raises:
            OutputError: the folder cannot be written, another process trains there, or one did
                since `stamp` was taken.
        """
        with contextlib.ExitStack() as stack:
            try:
                if self._timed:
                    self._claim()
                for name in _FOLDERS:
                    disk.make_folder(self.path / name)
                lock = stack.enter_context(disk.create(self.path / ".lock", overwrite=True))
            except OutputError as error:
                raise OutputError(f"run_dir={self.path}: {error}") from error
            _lock(lock.fileno(), self.path)
            if self.stamp() != stamp:
                raise OutputError(f"run_dir={self.path}: another training was here: start again")
            yield

    def _claim(self) -> None:
        base, number = self.path, 1
        while True:
            try:
                disk.make_folder(self.path, new=True)
                return
            except FileExistsError:
                number += 1
                self.path = base.with_name(f"{base.name}_{number}")

    def clear(self) -> None:
        """Remove what an earlier run left, and nothing else."""
        if not self.holds_run:
            return
        for pattern in _LEFT_BY_A_RUN:
            for file in self.path.glob(pattern):
                disk.remove(file)

    def write_config(self, config: Config) -> None:
        """Keep the settings as they were after recipe and command line were put together."""
        with disk.atomic_write(self.path / "config.yaml") as stream:
            text = yaml.safe_dump(dataclasses.asdict(config), sort_keys=False, allow_unicode=True)
            stream.write(text.encode("utf-8", "surrogateescape"))

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write summary.json, which also marks the run as finished."""
        with disk.atomic_write(self.path / "summary.json") as stream:
            stream.write((json.dumps(summary, indent=2) + "\n").encode())

    def reopen(self, step: int) -> None:
        """Take back what was recorded after `step`, to go on from there; clear away half files."""
        disk.remove(self.path / "summary.json")
        for half in self._checkpoints.glob(".*.tmp"):
            disk.remove(half)
        metrics = self.path / "metrics.jsonl"
        if not metrics.exists():
            return
        kept = []
        for line in metrics.read_text().splitlines():
            try:
                if json.loads(line)["step"] <= step:
                    kept.append(line + "\n")
            except (ValueError, KeyError, TypeError):
                break  # the half line of a run that was killed
        with disk.atomic_write(metrics) as stream:
            stream.write("".join(kept).encode())

    def record(self, event: str, values: dict[str, Any]) -> None:
        """Append one line to metrics.jsonl."""
        disk.append(self.path / "metrics.jsonl", json.dumps({"event": event, **values}) + "\n")

    def note(self, text: str) -> None:
        """Append to the log."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        disk.append(self.path / "log", f"{stamp} {text}\n")

    def save(self, saved: Checkpoint) -> None:
        """Make `saved` the last checkpoint and keep the one before it.

        The new file is whole before the others are touched.
        """
        new, last = self._file("next"), self._file("last")
        saved.save(new)
        if last.exists():
            disk.rename(last, self._file("previous"))
        disk.rename(new, last)

    def save_best(self, saved: Checkpoint) -> None:
        """Keep what generation needs of the best checkpoint."""
        dataclasses.replace(saved, training=None, training_tensors={}).save(self._file("best"))

    def load_last(self, catalogue: Catalogue, notice: Callable[[str], None]) -> Checkpoint | None:
        """The newest whole checkpoint with a training state; None if the run never saved one.

        One that is damaged is passed over and set aside, with a notice.

        Raises:
            CheckpointError: there are some, and all are damaged.
        """
        damaged = []
        for name in ("last", "previous", "next"):
            file = self._file(name)
            if not file.exists():
                continue
            try:
                found = checkpoint.load(file, catalogue)
            except CheckpointError as error:
                damaged.append((file, error))
                continue
            for other, reason in damaged:
                notice(f"{reason}; going on from {file.name}")
                disk.rename(other, other.with_suffix(".damaged"))
            return found
        if damaged:
            raise damaged[0][1]
        return None

    def _file(self, name: str) -> Path:
        return self._checkpoints / f"{name}.safetensors"

    @property
    def _checkpoints(self) -> Path:
        return self.path / "checkpoints"


def _lock(handle: int, path: Path) -> None:
    """Hold an advisory lock until the file is closed; elsewhere than on POSIX nothing is locked."""
    if os.name != "posix":
        return
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OutputError(f"run_dir={path}: another training writes to this folder") from error
