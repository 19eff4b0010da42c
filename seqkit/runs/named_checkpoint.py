"""The checkpoint that `checkpoint=` or `init_from=` names: a path, or a ready-made model.

A file or a run of that name comes first.
"""

import contextlib
import dataclasses
import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from seqkit.data.files import NEAR
from seqkit.foundation import dropped
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console
from seqkit.foundation.errors import CheckpointError, ConfigError
from seqkit.foundation.run_folders import READY_MADE, SAVED, SUFFIX, find_checkpoint, is_run
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint

if TYPE_CHECKING:
    from seqkit.foundation.ranks import Session


def ready_made() -> list[str]:
    """The names of the checkpoints that come with seqkit."""
    return sorted(file.stem for file in READY_MADE.glob(f"*{SUFFIX}"))


def is_path(name: str) -> bool:
    """Whether a name is a path, there or not."""
    if name in ready_made():  # a folder of data may be called so, too
        return Path(name).is_file() or is_run(Path(name))
    return os.path.lexists(name) or "://" not in name


def absolute(name: str) -> str:
    """A name as it is known from every folder."""
    return str(Path(name).absolute()) if is_path(name) else name


def load_checkpoint(
    name: str | None, catalogue: Catalogue, console: "Console | Session"
) -> Checkpoint:
    """The checkpoint that `checkpoint=` names: a run's folder, a file, or a model's name.

    Raises:
        ConfigError: nothing is named, or a URL.
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
        try:
            saved = checkpoint.load(file, catalogue)
        except CheckpointError as error:
            raise type(error)(f"{error}{_whole_beside(file, catalogue)}") from error
    if by_path and Path(name).is_dir() and file.stem != "best":
        step = saved.metrics.get("step")
        console.notice(f"{name} has no best checkpoint: {file.stem} of step {step} is read")
    return saved if by_path else dataclasses.replace(saved, name=name)


def _whole_beside(file: Path, catalogue: Catalogue) -> str:
    """What is said of the first checkpoint beside one of a run that can be read."""
    others = [file.with_name(f"{name}{SUFFIX}") for name in SAVED]
    for other in others if file in others else []:
        with contextlib.suppress(CheckpointError):
            return f"; {checkpoint.load(other, catalogue).file} of the same run is whole"
    return ""


def located(name: str) -> Path:
    """The file of a path or a ready-made model.

    Raises:
        ConfigError: the name is a URL.
        CheckpointError: there is no checkpoint.
    """
    if name in ready_made() and not is_path(name):
        return READY_MADE / f"{name}{SUFFIX}"
    if not is_path(name):
        raise ConfigError(f"{name}: {dropped.URL}")
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
    near = difflib.get_close_matches(place.name.lower(), known, 1, NEAR)
    return known[near[0]] if near else ""
