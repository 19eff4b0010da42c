"""The saved states of a run: its settings, and the state that it goes on from."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from seqkit.config import Config
from seqkit.foundation import disk
from seqkit.foundation.checkpoint_files import SAVED, STATES, is_run
from seqkit.foundation.config_file import from_values
from seqkit.foundation.errors import CheckpointError, ConfigError, UnreadableError
from seqkit.foundation.plugins import Catalogue
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.header import peek
from seqkit.runs.layout import RunFiles, instead_of_a_run


class Found(NamedTuple):
    """The state that a run goes on from, and the damaged ones that were passed over."""

    checkpoint: Checkpoint
    damaged: Sequence[Path]


def find_last(files: RunFiles, catalogue: Catalogue, notice: Callable[[str], None]) -> Found:
    """The newest whole checkpoint with a training state: `last`, else `previous`.

    One that is damaged is passed over, with a notice. Nothing is changed before `set_aside`.

    Raises:
        CheckpointError: there is none, or all are damaged.
        UnreadableError: one of them cannot be read now, though it may be whole.
    """
    damaged: list[Path] = []
    reasons: list[str] = []
    for file in map(files.checkpoint, STATES):
        try:
            found = checkpoint.load(file, catalogue)
            if found.training is None:
                raise CheckpointError(f"{file}: it holds no training state")
        except UnreadableError:
            raise
        except CheckpointError as error:
            reasons.append(str(error))
            damaged += [file] if file.exists() else []
            continue
        for reason in reasons:
            notice(f"{reason}; going on from {file.name}")
        return Found(found, damaged)
    best = files.checkpoint("best")
    instead = f"with another run_dir, init_from={best} begins with its best weights"
    raise CheckpointError(
        f"the run cannot go on: {'; '.join(reasons)}: {instead if peek(best) else 'train anew'}"
    )


def set_aside(damaged: Sequence[Path]) -> None:
    """Give damaged checkpoints a name with the time, beside those to come. Raises OutputError."""
    for file in damaged:
        disk.rename(file, file.with_name(f"{file.stem}.damaged_{time.strftime('%Y%m%d_%H%M%S')}"))


def keep_best(files: RunFiles, notice: Callable[[str], None]) -> None:
    """Keep the best checkpoint of a run that is judged otherwise now. Raises OutputError."""
    best = files.checkpoint("best")
    header = peek(best)
    if header is not None:
        kept = best.with_stem(f"best-{header['metrics'].get('step')}")
        disk.rename(best, kept)
        notice(f"losses are of other data from now on: the best checkpoint is kept as {kept}")


def read_config(folder: Path) -> Config:
    """The settings of the run in a folder, as its newest checkpoint has them.

    Raises:
        ConfigError: there is no run.
        CheckpointError: its checkpoints cannot be read.
    """
    if not is_run(folder):
        raise ConfigError(f"run_dir={folder}: {instead_of_a_run(folder)}, or recipe=NAME for one")
    if (config := settings_of(folder)) is None:
        raise CheckpointError(
            f"run_dir={folder}: its checkpoints are damaged: give another run_dir and train anew"
        )
    return config


def settings_of(folder: Path) -> Config | None:
    """The settings in a run's newest checkpoint that can be read; None without one."""
    for name in (*STATES, *SAVED):
        file = RunFiles(folder).checkpoint(name)
        header: dict[str, Any] = peek(file) or {}
        if isinstance(values := header.get("config"), dict):
            return from_values(values, str(file))
    return None
