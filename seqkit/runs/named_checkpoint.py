"""The checkpoint that `checkpoint=` or `init_from=` names: a path, a ready-made model, or a URL.

A path that is there comes first. A shared checkpoint, at a URL, is copied into the cache.
"""

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from seqkit.config import DataConfig
from seqkit.data import copies
from seqkit.data.files import Meter
from seqkit.data.remote import is_remote
from seqkit.foundation import disk
from seqkit.foundation.checkpoint_files import SUFFIX
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import CheckpointError, ConfigError, DataError
from seqkit.foundation.plugins import Catalogue
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
    return os.path.lexists(name) or not (is_remote(name) or name in ready_made())


def absolute(name: str) -> str:
    """A name as it is known from every folder."""
    return str(Path(name).absolute()) if is_path(name) else name


def read(
    name: str, catalogue: Catalogue, notice: Callable[[str], None], progress: Progress = unseen
) -> Checkpoint:
    """The checkpoint of a name; the digest of a shared one is reported.

    Raises:
        CheckpointError: there is none, or none that can be read.
        ConfigError: a URL that cannot be read, or not without more packages.
    """
    shared = not is_path(name) and is_remote(name)
    file = _fetched(name, notice, progress) if shared else located(name)
    with progress("reading the checkpoint"):
        saved = checkpoint.load(file, catalogue)
    if shared:
        notice(f"{name}: digest {saved.digest}")
    return saved


def located(name: str) -> Path:
    """The file of a path or a ready-made model. Raises CheckpointError: there is none."""
    return find_checkpoint(Path(name)) if is_path(name) else READY_MADE / f"{name}{SUFFIX}"


def _fetched(url: str, notice: Callable[[str], None], progress: Progress) -> Path:
    """The copy of a shared checkpoint, brought up to date. Raises as `read` does."""
    place = url.rstrip("/")
    if place.startswith(HUB) and place.count("/") == 3:  # a repository
        place = f"{place}/{IN_REPOSITORY}"
    if not urlsplit(place).path.endswith(SUFFIX):
        raise ConfigError(f"{url}: give the URL of a file *{SUFFIX}, or hf://USER/NAME")
    try:
        return copies.fetched(place, DataConfig(), disk.cache_dir(), notice, Meter(progress))
    except DataError as error:
        raise CheckpointError(str(error)) from error
