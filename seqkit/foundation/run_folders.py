"""Where runs are: what lies where in a run's folder, who owns it, and how one is found."""

import glob
import itertools
import os
import re
from pathlib import Path

from seqkit.foundation import disk
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.wording import first_of

SUFFIX = ".safetensors"
FOLDER = "checkpoints"
STATES = ("last", "previous")
"""Checkpoints with the state of their training, the newest first."""
SAVED = ("best", *STATES)
"""Names of a run's checkpoints, that of the one to take first before the others."""
MARK, HEAD = b'"seqkit":', 256
"""A checkpoint has this mark among so many first bytes."""
READY_MADE = Path(__file__).resolve().parents[1] / "models"
"""The folder of the checkpoints that come with seqkit."""
_CHECKPOINT = re.compile(r"(best|last|previous|next)[-.].*")
_SAMPLE = re.compile(r"step_\d+\.(txt|wav|png)")
NO_CHECKPOINT = "no such checkpoint: give a run's folder, a file (no URL), shakespeare or etude"


class RunFiles:
    """The files of the run in `path`; none of them need be there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"  # the settings, for people
        self.metrics = path / "metrics.jsonl"  # a JSON object for each report and validation
        self.about = path / "about.json"  # what the training knew when it began, why it ended
        self.summary = path / "summary.json"  # what came of the run, once it is finished
        self.report = path / "report.html"  # the page that shows the run
        self.log = path / "log"  # what the user was told, with the time
        self.lock = path / ".lock"  # held by the process that trains here
        self.samples = path / "samples"  # text or sound, as step_0000500.txt and final.wav
        self.checkpoints = path / FOLDER

    def checkpoint(self, name: str) -> Path:
        """`last`, `previous` or `best`."""
        return self.checkpoints / f"{name}{SUFFIX}"

    @property
    def written(self) -> list[Path]:
        """What trainings left here, the config last; a user's files are not among it."""
        files = [
            *(file for file in self.checkpoints.glob("*") if _CHECKPOINT.fullmatch(file.name)),
            *(file for file in self.samples.glob("step_*") if _SAMPLE.fullmatch(file.name)),
            *(self.samples / name for name in ("final.wav", "final.png", "data.wav", "data.png")),
            *(self.report, self.about, self.metrics, self.summary),
            *(self.log, self.config),
        ]
        return [file for file in files if os.path.lexists(file)]


def find_checkpoint(place: Path) -> Path:
    """The checkpoint that a key means: a file, or the best one of a run or its `checkpoints`.

    Raises CheckpointError: there is none.
    """
    try:
        if place.is_file():
            return place
        if not place.is_dir():
            raise CheckpointError(f"{place}: {NO_CHECKPOINT}")
        run = place.parent if place.name == FOLDER and is_run(place.parent) else place
        for name in SAVED:
            if (file := RunFiles(run).checkpoint(name)).is_file():
                return file
        instead = _runs_in(place)
    except OSError as error:
        raise CheckpointError(f"{place}: cannot be read: {disk.describe(error)}") from error
    none = "no checkpoint in this folder; give a run's folder or a checkpoint file"
    raise CheckpointError(f"{place}: {instead or none}")


def samples_folder(checkpoint: Path) -> Path:
    """Where samples of a checkpoint go: the `samples/` of its run, or else its own folder."""
    folder = checkpoint.parent
    run = RunFiles(folder.parent)
    return run.samples if folder == run.checkpoints else folder


def runs_below(folder: Path) -> list[Path]:
    """The runs in a folder, or in the folders in it (RECIPE/TIME), by name; no hidden ones."""
    places = [*folder.glob(f"[!.]*/{FOLDER}"), *folder.glob(f"[!.]*/[!.]*/{FOLDER}")]
    return sorted(run for run in {place.parent for place in places} if is_run(run))


def find_runs(pattern: str) -> tuple[list[Path], list[Path]]:
    """The folders of runs that a glob matches or that lie in what it matches; and other matches.

    Raises ConfigError: there is no run.
    """
    # Path.glob takes no absolute pattern.
    matches = [pattern] if Path(pattern).is_dir() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
    folders = filter(Path.is_dir, map(Path, matches))
    inside = {folder: [folder] if is_run(folder) else runs_below(folder) for folder in folders}
    runs = dict.fromkeys(itertools.chain(*inside.values()))
    if not runs:
        raise ConfigError(
            f"runs={pattern}: no run there: give a folder of runs, or a glob as in runs='runs/*'"
        )
    return list(runs), [folder for folder, found in inside.items() if not found]


def require_run(path: Path) -> None:
    """Raise CheckpointError if there is no run in a folder."""
    if not is_run(path):
        raise CheckpointError(f"run_dir={path}: {instead_of_a_run(path)}")


def instead_of_a_run(path: Path) -> str:
    """What there is in the place of a run, and what to do."""
    if not path.is_dir():
        return "no such folder: give the folder of a run"
    for folder in (path, path / FOLDER):
        if folder.is_dir() and not os.access(folder, os.R_OK | os.X_OK):
            return f"{folder} cannot be read: permission denied"
    if RunFiles(path).metrics.exists():
        return "a run was here, and its checkpoints are gone: give the folder of another"
    return _runs_in(path) or "no run in this folder: give the folder of a run"


def _runs_in(path: Path) -> str:
    """Which runs a folder holds, and what to do; empty where there are none."""
    names = [str(run.relative_to(path)) for run in runs_below(path)]
    return f"it holds the runs {first_of(names)}: give the folder of one" if names else ""


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
