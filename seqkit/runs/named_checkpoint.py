"""The checkpoint that `checkpoint=` or `init_from=` names: a path, a ready-made model, or a URL.

A file or a run of that name comes first. A shared checkpoint, at a URL, is copied into the cache.
"""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from seqkit.data import elsewhere
from seqkit.data.elsewhere import is_remote
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, Progress, unseen
from seqkit.foundation.errors import CheckpointError, ConfigError, DataError, UnreadableError
from seqkit.foundation.run_folders import SUFFIX, is_run
from seqkit.foundation.settings import nearest
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.layout import READY_MADE, find_checkpoint

HUB = "hf://"
IN_REPOSITORY = f"checkpoint{SUFFIX}"
"""What the checkpoint of a repository on the hub is called."""


def ready_made() -> list[str]:
    """The names of the checkpoints that come with seqkit."""
    return sorted(file.stem for file in READY_MADE.glob(f"*{SUFFIX}"))


def is_path(name: str) -> bool:
    """Whether a name is a path, there or not."""
    if name in ready_made():  # a folder of data may be called so, too
        return Path(name).is_file() or is_run(Path(name))
    return os.path.lexists(name) or not is_remote(name)


def absolute(name: str) -> str:
    """A name as it is known from every folder."""
    return str(Path(name).absolute()) if is_path(name) else name


def load_checkpoint(place: str | None, catalogue: Catalogue, console: Console) -> Checkpoint:
    """The checkpoint that `checkpoint=` names: a run's folder, a file, a model's name or a URL.

    Raises:
        ConfigError: nothing is named.
        CheckpointError: there is no checkpoint, or none that can be read.
    """
    if not place:
        names = " or ".join(f"checkpoint={name}" for name in ready_made())
        raise ConfigError(
            "no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE, or a ready-made model, "
            f"{names}, or a URL"
        )
    return read(place, catalogue, console.notice, console.progress)


def read(
    name: str, catalogue: Catalogue, notice: Callable[[str], None], progress: Progress = unseen
) -> Checkpoint:
    """The checkpoint of a name; the digest of a shared one is reported.

    Raises:
        CheckpointError: there is none, or none that can be read.
        ConfigError: a URL that cannot be read, or not without more packages.
    """
    by_path = is_path(name)
    if by_path and name in ready_made():
        notice(f"{name}: what is here, not the ready-made model")
    shared = not by_path and is_remote(name)
    file = _fetched(name, notice, progress) if shared else located(name)
    try:
        with progress("reading the checkpoint"):
            saved = checkpoint.load(file, catalogue)
    except CheckpointError as error:
        if not shared or isinstance(error, UnreadableError):
            raise
        disk.remove(file)
        raise CheckpointError(f"{name}: {error}. Its copy is removed, and fetched again") from error
    if shared:
        notice(f"{name}: digest {saved.digest}")
    return saved if by_path else dataclasses.replace(saved, name=name)


def located(name: str) -> Path:
    """The file of a path or a ready-made model. Raises CheckpointError: there is none."""
    if not is_path(name):
        return READY_MADE / f"{name}{SUFFIX}"
    try:
        return find_checkpoint(Path(name))
    except CheckpointError as error:
        if (hint := nearest(name, ready_made())) == ".":
            raise
        raise CheckpointError(f"{error}{hint}") from error


def _fetched(url: str, notice: Callable[[str], None], progress: Progress) -> Path:
    """The copy of a shared checkpoint, brought up to date. Raises as `read` does."""
    place = url.rstrip("/")
    if place.startswith(HUB) and place.count("/") == 3:  # a repository
        place = f"{place}/{IN_REPOSITORY}"
    if not urlsplit(place).path.endswith(SUFFIX):
        raise ConfigError(f"{url}: give the URL of a file *{SUFFIX}, or hf://USER/NAME")
    cache = disk.cache_dir()
    try:
        return elsewhere.fetch_url(place, cache, notice, progress)
    except DataError as error:
        copy = elsewhere.copy_of_url(place, cache)
        if not copy.is_file():
            raise CheckpointError(str(error)) from error
        notice(f"{error}; read from its copy, {copy}")
        return copy
