"""The checkpoint that `checkpoint=` or `init_from=` names: a path, a ready-made model, hf://….

A file or a run of that name comes first. huggingface_hub keeps copies of shared ones, hf://….
"""

import contextlib
import dataclasses
import difflib
import os
from pathlib import Path
from typing import TYPE_CHECKING

from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, Progress
from seqkit.foundation.errors import CheckpointError, ConfigError, UnreadableError
from seqkit.foundation.run_folders import READY_MADE, SUFFIX, find_checkpoint, is_run
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint

if TYPE_CHECKING:
    from seqkit.foundation.session import Session

HUB = "hf://"
_IN_REPOSITORY = f"checkpoint{SUFFIX}"  # what the checkpoint of a repository is called


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
    """The checkpoint that `checkpoint=` names: a run's folder, a file, a model's name, hf://….

    `console` is told the digest of a shared one.

    Raises:
        ConfigError: nothing is named, or a URL of another kind than hf://, or no huggingface_hub.
        CheckpointError: there is no checkpoint, or none that can be read.
    """
    if not name:
        names = " or ".join(f"checkpoint={name}" for name in ready_made())
        raise ConfigError(
            "no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE, or a ready-made model, "
            f"{names}, or hf://USER/NAME"
        )
    by_path = is_path(name)
    if by_path and name in ready_made():
        console.notice(f"{name}: what is here, not the ready-made model")
    shared = not by_path and name not in ready_made()
    file = _fetched(name, console.progress) if shared else located(name)
    try:
        with console.progress("reading the checkpoint"):
            saved = checkpoint.load(file, catalogue)
    except CheckpointError as error:
        if not shared or isinstance(error, UnreadableError):
            raise
        disk.remove(file.resolve())
        raise CheckpointError(f"{name}: {error}. Its copy is removed, and fetched again") from error
    if shared:
        console.notice(f"{name}: digest {saved.digest}")
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
    return next((known[x] for x in difflib.get_close_matches(place.name.lower(), known, 1)), "")


def _fetched(url: str, progress: Progress) -> Path:
    """The newest copy of a checkpoint on the Hugging Face hub. Raises as `load_checkpoint`."""
    user, _, rest = url.rstrip("/").removeprefix(HUB).partition("/")
    name, _, file = rest.partition("/")
    file = file or _IN_REPOSITORY
    if not (url.startswith(HUB) and name and file.endswith(SUFFIX)):
        raise ConfigError(
            f"{url}: give hf://USER/NAME or hf://USER/NAME/FILE{SUFFIX}; of another URL download "
            "the file, and give checkpoint=FILE"
        )
    try:
        from huggingface_hub import hf_hub_download
        from huggingface_hub.utils import disable_progress_bars  # type: ignore[attr-defined]
    except ImportError as error:
        raise ConfigError(f"{url}: needs more: pip install 'seqkit[remote]' ({error})") from error
    disable_progress_bars()
    try:
        with progress(f"fetching {url}"):
            return Path(hf_hub_download(f"{user}/{name}", file))
    except Exception as error:  # it raises those of its libraries
        said = " ".join(f"{type(error).__name__}: {error}".split())
        raise CheckpointError(f"{HUB}{user}/{name}/{file}: cannot be read: {said}") from error
