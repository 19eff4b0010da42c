"""What lies where in a run's folder.

report.html  config.yaml  about.json  metrics.jsonl  summary.json  log  samples/  tensorboard/
checkpoints/{last,previous,best}.safetensors
"""

import contextlib
import difflib
import glob
import os
import re
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seqkit.foundation import disk
from seqkit.foundation.checkpoint_files import FOLDER, SAVED, SUFFIX, is_run
from seqkit.foundation.errors import CheckpointError, ConfigError

_ASIDE = re.compile(r"(best|last|previous|next)[-.].*")
_STEP = re.compile(r"step_\d+\.(txt|wav|png)")
_SHOWN = 3  # runs that are named
_DEEPEST = 2  # folders between a folder and the runs in it: RECIPE/TIME


@dataclass(frozen=True)
class RunFiles:
    """The files of the run in `path`; none of them need be there."""

    path: Path

    @property
    def config(self) -> Path:
        """The settings, after recipe and command line were put together."""
        return self.path / "config.yaml"

    @property
    def metrics(self) -> Path:
        """One JSON object a line, for each report and validation."""
        return self.path / "metrics.jsonl"

    @property
    def summary(self) -> Path:
        """What came of the run; it is there once the run is finished."""
        return self.path / "summary.json"

    @property
    def about(self) -> Path:
        """What the training knew when it began, and why it ended before its time, if it did."""
        return self.path / "about.json"

    @property
    def report(self) -> Path:
        """The page that shows the run."""
        return self.path / "report.html"

    @property
    def log(self) -> Path:
        """What the user was told, with the time."""
        return self.path / "log"

    @property
    def lock(self) -> Path:
        """Held by the process that trains here."""
        return self.path / ".lock"

    @property
    def samples(self) -> Path:
        """The folder of text or sound that was generated."""
        return self.path / "samples"

    @property
    def tensorboard(self) -> Path:
        """The folder of event files, with `log.tensorboard=true`."""
        return self.path / "tensorboard"

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / FOLDER

    @property
    def saved(self) -> list[Path]:
        """What the checkpoints of a run are called."""
        return [self.checkpoint(name) for name in SAVED]

    @property
    def checkpoint_bytes(self) -> int:
        """What those that a save replaces take; 0 where that cannot be told."""
        with contextlib.suppress(OSError):
            return sum(file.stat().st_size for file in self.saved if file.exists())
        return 0

    def checkpoint(self, name: str) -> Path:
        """`last`, `previous` or `best`."""
        return self.checkpoints / f"{name}{SUFFIX}"

    def sample(self, name: str) -> Path:
        """A sample's path without its ending: `step_0000500`, `final`."""
        return self.samples / name

    @property
    def sampled(self) -> list[Path]:
        """The samples of trainings that are there, and sound that need not be.

        Others may lie beside them: `generate` writes where it is asked to.
        """
        made = [file for file in self.samples.glob("step_*") if _STEP.fullmatch(file.name)]
        return [*made, *map(self.sample, ("final.wav", "final.png", "data.wav"))]

    @property
    def written(self) -> list[Path]:
        """What trainings left here, the config last; a user's files are not among it."""
        found = [
            *(file for file in self.checkpoints.glob("*") if _ASIDE.fullmatch(file.name)),
            *self.sampled,
            *self.tensorboard.glob("events.out.tfevents.*"),
            *(self.report, self.about, self.metrics, self.summary, self.log, self.config),
        ]
        return [file for file in found if os.path.lexists(file)]

    @property
    def others(self) -> list[Path]:
        """What is here if there is no run; hidden files and empty folders may be."""
        try:
            return sorted(
                path
                for path in self.path.iterdir()
                if not path.name.startswith(".") and not (path.is_dir() and _is_empty(path))
            )
        except OSError:  # no folder, or one that whoever writes to it finds out about
            return []


def named_checkpoint(place: str | None) -> Path:
    """The checkpoint that `checkpoint=` names.

    Raises:
        ConfigError: nothing is named.
        CheckpointError: there is none.
    """
    if not place:
        raise ConfigError("no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE")
    return find_checkpoint(Path(place))


def find_checkpoint(place: Path, key: str = "checkpoint") -> Path:
    """The checkpoint that a key means: a file, or a run folder's best one.

    Raises:
        CheckpointError: there is none.
    """
    try:
        mode = place.stat().st_mode
        if stat.S_ISREG(mode):
            return place
        if not stat.S_ISDIR(mode):  # a device or a pipe might never end
            raise CheckpointError(f"{place}: not a regular file, so no checkpoint")
        for name in SAVED:
            if (file := RunFiles(place).checkpoint(name)).is_file():
                return file
    except FileNotFoundError as error:
        meant = difflib.get_close_matches(str(place), map(str, runs_below(place.parent)), n=1)
        hint = f": did you mean {meant[0]}?" if meant else ""
        raise CheckpointError(f"{place}: no such checkpoint{hint}") from error
    except OSError as error:
        raise CheckpointError(f"{place}: cannot be read: {disk.describe(error)}") from error
    except ValueError as error:  # a name with a NUL
        raise CheckpointError(f"{str(place)!r}: no such checkpoint: {error}") from error
    if runs := sorted(runs_below(place), key=_saved_at, reverse=True):
        raise CheckpointError(
            f"{place}: a folder of runs: give one of them, the newest: {key}={runs[0]}"
            + "".join(f", {run}" for run in runs[1:_SHOWN])
            + (" …" if len(runs) > _SHOWN else "")
        )
    raise CheckpointError(
        f"{place}: no checkpoint in this folder; give a run's folder or a checkpoint file"
    )


def runs_below(folder: Path) -> list[Path]:
    """The runs in a folder, or in the folders in it (RECIPE/TIME), by name; no hidden ones."""
    found: set[Path] = set()
    with contextlib.suppress(OSError):  # a folder that may not be read, a file that goes
        for depth in range(1, _DEEPEST + 1):
            found |= {place.parent for place in folder.glob("[!.]*/" * depth + FOLDER)}
    return sorted(filter(is_run, found))


def find_runs(pattern: str) -> tuple[list[Path], list[Path]]:
    """The folders of runs that a glob matches or that lie in what it matches; and other matches.

    Raises:
        ConfigError: there is no run.
    """
    # Path.glob takes no absolute pattern.
    matches = [pattern] if Path(pattern).is_dir() else sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
    runs: dict[Path, None] = {}
    others = []
    for match in (folder for folder in map(Path, matches) if folder.is_dir()):
        inside = [match] if is_run(match) else runs_below(match)
        runs |= dict.fromkeys(inside)
        if not inside:
            others.append(match)
    if not runs:
        raise ConfigError(
            f"runs={pattern}: no run there: give a folder of runs, or a glob as in runs='runs/*'"
        )
    return list(runs), others


def require_run(path: Path) -> None:
    """Raise CheckpointError if there is no run in a folder."""
    if not is_run(path):
        raise CheckpointError(f"run_dir={path}: {instead_of_a_run(path)}")


def instead_of_a_run(path: Path) -> str:
    """What there is in the place of a run, and what to do."""
    if not path.is_dir():
        return "no such folder: give the folder of a run"
    if runs := runs_below(path):
        return f"it holds the runs {names_of(runs, path)}: give the folder of one"
    return "no run in this folder: give the folder of a run"


def names_of(runs: Sequence[Path], folder: Path) -> str:
    """The names of runs in a folder, in a message; of many the first ones."""
    names = ", ".join(str(run.relative_to(folder)) for run in runs[:_SHOWN])
    return names + (" …" if len(runs) > _SHOWN else "")


def _is_empty(folder: Path) -> bool:
    """Whether there is no file in a folder but hidden ones."""
    return all(file.name.startswith(".") for file in folder.iterdir())


def _saved_at(run: Path) -> float:
    """When the newest checkpoint of a run was saved; 0 where that is not known."""
    with contextlib.suppress(OSError):
        saved = RunFiles(run).checkpoints.glob(f"*{SUFFIX}")
        return max(file.stat().st_mtime for file in saved)
    return 0.0


def samples_folder(checkpoint: Path) -> Path:
    """Where samples of a checkpoint go: the `samples/` of its run, or else its own folder."""
    folder = checkpoint.parent
    run = RunFiles(folder.parent)
    return run.samples if folder == run.checkpoints else folder
