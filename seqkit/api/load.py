"""A trained model from a checkpoint."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seqkit.api.model import Model
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.device import choose_device, memory_errors
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.plugins import Catalogue
from seqkit.foundation.settings import check_type
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.checkpoint import load as read_checkpoint
from seqkit.runs.layout import find_checkpoint


def load_checkpoint(
    place: str | None, catalogue: Catalogue, progress: Progress = unseen
) -> Checkpoint:
    """The checkpoint that `checkpoint=` names: a run's folder or a file.

    Raises:
        ConfigError: nothing is named.
        CheckpointError: there is no checkpoint, or none that can be read.
    """
    if not place:
        raise ConfigError("no checkpoint: give checkpoint=RUN_FOLDER or checkpoint=FILE")
    file = find_checkpoint(Path(place))
    with progress("reading the checkpoint"):
        return read_checkpoint(file, catalogue)


def load(
    checkpoint: str | os.PathLike[str], device: str = "auto", plugins: Sequence[str] = ()
) -> Model[Any]:
    """The model of a run, or of a checkpoint's file.

    Args:
        checkpoint: a run's folder, of which the best checkpoint is taken, or a file.
        device: auto, cpu, cuda or cuda:N.
        plugins: modules that bring the codec, where it is none of an installed package.

    Raises:
        ConfigError: an argument of a wrong type, or a plug-in that cannot be used.
        CheckpointError: there is no checkpoint, or none that can be read.
        DeviceError: there is no such device, or its memory does not suffice.
    """
    check_type("checkpoint", checkpoint, str | os.PathLike)
    check_type("device", device, str)
    saved = load_checkpoint(os.fspath(checkpoint), Catalogue(plugins))
    chosen = choose_device(device)
    with memory_errors(lambda: "Try device=cpu."):
        return Model(saved, chosen)
