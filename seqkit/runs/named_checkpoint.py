"""The checkpoint that `checkpoint=` or `init_from=` names: a path, a ready-made model, hf://….

A file or a run of that name comes first. huggingface_hub keeps copies of shared ones, hf://….
"""

import dataclasses
import os
from collections.abc import Callable
from pathlib import Path

from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, Progress, unseen
from seqkit.foundation.errors import CheckpointError, ConfigError, UnreadableError
from seqkit.foundation.run_folders import READY_MADE, SUFFIX, find_checkpoint, is_run
from seqkit.foundation.settings import nearest
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint

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


def load_checkpoint(place: str | None, catalogue: Catalogue, console: Console) -> Checkpoint:
    """The checkpoint that `checkpoint=` names: a run's folder, a file, a model's name, hf://….

    Raises:
        ConfigError: nothing is named.
        CheckpointError: there is no checkpoint, or none that can be read.
    """
    if not place:
        names = " or ".join(f"checkpoint={name}" for name in ready_made())
        raise ConfigError(
            "no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE, or a ready-made model, "
            f"{names}, or hf://USER/NAME"
        )
    return read(place, catalogue, console.notice, console.progress)


def read(
    name: str, catalogue: Catalogue, notice: Callable[[str], None], progress: Progress = unseen
) -> Checkpoint:
    """The checkpoint of a name; the digest of a shared one is reported.

    Raises:
        CheckpointError: there is none, or none that can be read.
        ConfigError: a URL of another kind than hf://, which needs huggingface_hub.
    """
    by_path = is_path(name)
    if by_path and name in ready_made():
        notice(f"{name}: what is here, not the ready-made model")
    shared = not by_path and name not in ready_made()
    file = _fetched(name, progress) if shared else located(name)
    try:
        with progress("reading the checkpoint"):
            saved = checkpoint.load(file, catalogue)
    except CheckpointError as error:
        if not shared or isinstance(error, UnreadableError):
            raise
        disk.remove(file.resolve())
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


def _fetched(url: str, progress: Progress) -> Path:
    """The newest copy of a checkpoint on the Hugging Face hub. Raises as `read` does."""
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
