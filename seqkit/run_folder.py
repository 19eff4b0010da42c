"""The folder of one training run: its files, and who may write to it.

config.yaml  metrics.jsonl  summary.json  log  samples/
checkpoints/{last,previous,best}.safetensors
"""

import contextlib
import dataclasses
import json
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from seqkit import checkpoint, paths
from seqkit.checkpoint import Checkpoint
from seqkit.config import Config
from seqkit.errors import CheckpointError, OutputError

_FILES = ("config.yaml", "metrics.jsonl", "summary.json", "log")
_FOLDERS = ("samples", "checkpoints")


class RunFolder:
    """One run's files. Nothing is made before `open`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.checkpoints = path / "checkpoints"

    @classmethod
    def timed(cls, runs: Path, recipe: str) -> "RunFolder":
        """A new folder RUNS/RECIPE/TIME that does not exist yet."""
        base = runs / recipe / time.strftime("%Y-%m-%d_%H-%M-%S")
        path, number = base, 1
        while path.exists():
            number += 1
            path = base.with_name(f"{base.name}_{number}")
        return cls(path)

    @property
    def holds_run(self) -> bool:
        """Whether a training wrote to this folder before."""
        return any((self.path / name).exists() for name in ("config.yaml", "checkpoints"))

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

    @contextlib.contextmanager
    def open(self) -> Iterator[None]:
        """Make the folder and hold its lock: two trainings never write to one folder.

        Raises:
            OutputError: the folder cannot be written, or another process trains there.
        """
        with contextlib.ExitStack() as stack:
            try:
                for name in _FOLDERS:
                    (self.path / name).mkdir(parents=True, exist_ok=True)
                lock = stack.enter_context((self.path / ".lock").open("w"))
            except OSError as error:
                place = error.filename or self.path
                reason = paths.describe(error)
                raise OutputError(f"run_dir={self.path}: cannot write {place}: {reason}") from error
            _lock(lock.fileno(), self.path)
            yield

    def clear(self) -> None:
        """Remove what an earlier run left."""
        for name in _FILES:
            (self.path / name).unlink(missing_ok=True)
        for name in _FOLDERS:
            shutil.rmtree(self.path / name, ignore_errors=True)
            (self.path / name).mkdir()

    def write_config(self, config: Config) -> None:
        """Keep the settings as they were after recipe and command line were put together."""
        with paths.atomic_write(self.path / "config.yaml") as stream:
            stream.write(OmegaConf.to_yaml(dataclasses.asdict(config)).encode())

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Write summary.json, which also marks the run as finished."""
        with paths.atomic_write(self.path / "summary.json") as stream:
            stream.write((json.dumps(summary, indent=2) + "\n").encode())

    def reopen(self, step: int) -> None:
        """Take back what was recorded after `step`, to go on from there."""
        (self.path / "summary.json").unlink(missing_ok=True)
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
        with paths.atomic_write(metrics) as stream:
            stream.write("".join(kept).encode())

    def record(self, event: str, values: dict[str, Any]) -> None:
        """Append one line to metrics.jsonl."""
        with (self.path / "metrics.jsonl").open("a") as stream:
            stream.write(json.dumps({"event": event, **values}) + "\n")

    def note(self, text: str) -> None:
        """Append to the log."""
        stamp = time.strftime("%Y-%m-%d %H:%M:%S")
        with (self.path / "log").open("a") as stream:
            stream.write(f"{stamp} {text}\n")

    def save(self, saved: Checkpoint) -> None:
        """Make `saved` the last checkpoint and keep the one before it."""
        last, previous = self._file("last"), self._file("previous")
        if last.exists():
            last.replace(previous)
        saved.save(last)

    def save_best(self, saved: Checkpoint) -> None:
        """Keep what generation needs of the best checkpoint."""
        dataclasses.replace(saved, training=None, training_tensors={}).save(self._file("best"))

    def load_last(self) -> Checkpoint | None:
        """The newest whole checkpoint with a training state; None if the run never saved one.

        Raises:
            CheckpointError: there are some, and all are damaged.
        """
        failure = None
        for name in ("last", "previous"):
            if self._file(name).exists():
                try:
                    return checkpoint.load(self._file(name))
                except CheckpointError as error:
                    failure = failure or error
        if failure:
            raise failure
        return None

    def _file(self, name: str) -> Path:
        return self.checkpoints / f"{name}.safetensors"


def _lock(handle: int, path: Path) -> None:
    """Hold an advisory lock until the file is closed; elsewhere than on POSIX nothing is locked."""
    if os.name != "posix":
        return
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise OutputError(f"run_dir={path}: another training writes to this folder") from error
