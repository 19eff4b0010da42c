"""The checkpoint that `checkpoint=` or `init_from=` names: a path, or a ready-made model.

A file or a run of that name comes first.
"""

import contextlib
import dataclasses
import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.run_folders import READY_MADE, SUFFIX, find_checkpoint, is_run
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint

if TYPE_CHECKING:
    from seqkit.foundation.ranks import Session


def ready_made() -> list[str]:
    """The names of the checkpoints that come with seqkit."""
    return sorted(file.stem for file in READY_MADE.glob(f"*{SUFFIX}"))


def is_path(name: str) -> bool:
    """Whether a name is a path, there or not."""
    # A folder of data may be called as a model is, too.
    return name not in ready_made() or Path(name).is_file() or is_run(Path(name))


def absolute(name: str) -> str:
    """A name as it is known from every folder."""
    return str(Path(name).absolute()) if is_path(name) else name


def load_checkpoint(
    name: str | None, catalogue: Catalogue, console: "Console | Session"
) -> Checkpoint:
    """The checkpoint that `checkpoint=` names: a run's folder, a file, or a model's name.

    Raises:
        ConfigError: nothing is named.
        CheckpointError: there is no checkpoint, or none that can be read.
    """
    if not name:
        names = " or ".join(f"checkpoint={name}" for name in ready_made())
        raise ConfigError(
            "no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE, or a ready-made model, "
            f"{names}"
        )
    file, by_path = located(name), is_path(name)
    if by_path and name in ready_made():
        console.notice(f"{name}: what is here, not the ready-made model")
    with console.progress("reading the checkpoint"):
        saved = checkpoint.load(file, catalogue)
    if by_path and Path(name).is_dir() and file.stem != "best":
        step = saved.metrics.get("step")
        console.notice(f"{name} has no best checkpoint: {file.stem} of step {step} is read")
    return saved if by_path else dataclasses.replace(saved, name=name)


def located(name: str) -> Path:
    """The file of a path or a ready-made model. Raises CheckpointError: there is none."""
    if not is_path(name):
        return READY_MADE / f"{name}{SUFFIX}"
    try:
        return find_checkpoint(Path(name))
    except CheckpointError as error:
        if not (meant := _meant(Path(name))):
            raise
        raise CheckpointError(f"{error}: did you mean {meant}?") from error


def _meant(place: Path) -> str:
    """The run beside a place, or the ready-made model, that was probably meant; or nothing."""
    known = {name: name for name in ready_made()}
    with contextlib.suppress(OSError, ValueError):
        known |= {run.name.lower(): str(run) for run in place.parent.iterdir() if is_run(run)}
    near = difflib.get_close_matches(place.name.lower(), known, 1, 0.75)
    return known[near[0]] if near else ""
