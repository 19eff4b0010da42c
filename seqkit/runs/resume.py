"""What a run goes on from: its newest state and its settings."""

import shlex
import time
from collections.abc import Callable
from pathlib import Path

from seqkit.config import Config
from seqkit.foundation import disk
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.config_file import from_values
from seqkit.foundation.errors import CheckpointError, ConfigError, UnreadableError
from seqkit.foundation.run_folders import SAVED, STATES, RunFiles, instead_of_a_run, is_run
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.checkpoint_bytes import peek


def find_last(files: RunFiles, catalogue: Catalogue, notice: Callable[[str], None]) -> Checkpoint:
    """The newest whole checkpoint with a training state: `last`, else `previous`.

    One that is damaged is passed over, with a notice. Nothing is changed before `set_aside`.

    Raises:
        CheckpointError: there is none, or all are damaged.
        UnreadableError: one of them cannot be read now, though it may be whole.
    """
    reasons: list[str] = []
    for file in map(files.checkpoint, STATES):
        try:
            saved = checkpoint.load(file, catalogue)
            if saved.training is None:
                raise CheckpointError(f"{file}: it holds no training state")
        except UnreadableError:
            raise
        except CheckpointError as error:
            reasons += [str(error)] if file.exists() else []
            continue
        for reason in reasons:
            notice(f"{reason}; going on from {file.name}")
        return saved
    best = files.checkpoint("best")
    begin = shlex.quote(f"init_from={best}")
    instead = f"with another run_dir, {begin} begins with its best weights"
    why = "; ".join(reasons) or "neither last nor previous is there"
    raise CheckpointError(f"the run cannot go on: {why}: {instead if peek(best) else 'train anew'}")


def set_aside(files: RunFiles, found: Checkpoint) -> None:
    """Give a damaged `last`, in whose place another was found, a name with the time.

    Raises OutputError.
    """
    last = files.checkpoint("last")
    if found.file.name != last.name and last.exists():
        disk.rename(last, last.with_name(f"last.damaged_{time.strftime('%Y%m%d_%H%M%S')}"))


def read_config(folder: Path) -> Config:
    """The settings of the run in a folder, as its newest checkpoint has them.

    Raises:
        ConfigError: there is no run.
        CheckpointError: its checkpoints cannot be read.
    """
    if not is_run(folder):
        raise ConfigError(f"run_dir={folder}: {instead_of_a_run(folder)}, or recipe=NAME for one")
    records = (peek(RunFiles(folder).checkpoint(name)) for name in (*STATES, *SAVED))
    values = next((record.get("config") for record in records if record), None)
    if not isinstance(values, dict):
        raise CheckpointError(
            f"run_dir={folder}: its checkpoints are damaged: give another run_dir and train anew"
        )
    return from_values(values, str(folder))
