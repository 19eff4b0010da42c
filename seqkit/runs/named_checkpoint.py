"""The checkpoint that `checkpoint=` or `init_from=` names: a path, a ready-made model, or a URL.

A file or a run of that name comes first. A shared checkpoint, at a URL, is copied into the cache.
"""

import dataclasses
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from seqkit.config import DataConfig
from seqkit.data import url_cache
from seqkit.data.codecs import Codec
from seqkit.data.files import Meter
from seqkit.data.labels import Labels
from seqkit.data.remote import is_remote
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Console, Progress, unseen
from seqkit.foundation.errors import CheckpointError, ConfigError, DataError, UnreadableError
from seqkit.foundation.run_folders import SUFFIX, is_run
from seqkit.foundation.settings import nearest
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.layout import READY_MADE, find_checkpoint

if TYPE_CHECKING:
    from seqkit.foundation.session import Session

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


@dataclass(frozen=True)
class Predicted:
    """What several checkpoints are to predict together.

    codec, labels: of its symbols and documents.
    ends: whether the ends of documents are predicted, too.
    sha256, split: of the data whose parts judge them, and how it was split; empty if that is not
        known.
    """

    codec: Codec
    labels: Labels | None
    ends: bool
    sha256: str
    split: Sequence[float]


def read_alike(
    key: str, names: Sequence[str], predicted: Predicted, session: "Session"
) -> list[Checkpoint]:
    """The checkpoints that a key names, all of which predict the same.

    One that split the same data otherwise is told of: it may know what it is judged by.

    Raises:
        ConfigError: one has another codec or other labels, does not end documents alike, or reads
            codes of its own.
        CheckpointError: there is none, or none that can be read.
    """
    checkpoints = []
    for name in names:
        saved = read(name, session.catalogue, session.notice, session.progress)
        differs = {
            "other symbols (another text, or read with other keys data.*)": (
                saved.codec.to_spec() != predicted.codec.to_spec()
            ),
            "other labels": saved.labels != predicted.labels,
            "another model.ends": bool(saved.model.ends) != predicted.ends,
            "codes of its own": saved.slow is not None,
        }
        if said := [words for words, is_so in differs.items() if is_so]:
            raise ConfigError(f"{key}: {name} does not fit: it has {' and '.join(said)}")
        split = saved.config.get("data", {}).get("split")
        if saved.data.get("sha256") == predicted.sha256 and split != [*predicted.split]:
            session.notice(
                f"{key}: {name} was trained with data.split={split}: it may have learnt what it is "
                "judged by here"
            )
        checkpoints.append(saved)
    return checkpoints


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
    data, cache = DataConfig(), disk.cache_dir()
    try:
        return url_cache.fetch(place, data, cache, notice, Meter(progress))
    except DataError as error:
        copy = url_cache.copy_of(place, data, cache).path
        if not copy.is_file():
            raise CheckpointError(str(error)) from error
        notice(f"{error}; read from its copy, {copy}")
        return copy
