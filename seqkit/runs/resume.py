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

    One that is gone or damaged is passed over, with a notice. Nothing is changed before
    `set_aside`.

    Raises:
        CheckpointError: there is none, or all are damaged.
        UnreadableError: one of them cannot be read now, though it may be whole.
    """
    reasons: list[str] = []
    for file in map(files.checkpoint, STATES):
        try:
            if not file.exists():
                raise CheckpointError(f"{file} is gone")
            saved = checkpoint.load(file, catalogue)
            if saved.training is None:
                raise CheckpointError(f"{file}: it holds no training state")
        except UnreadableError:
            raise
        except CheckpointError as error:
            reasons += [str(error)]
            continue
        for reason in reasons:
            notice(f"{reason}; going on from {file.name}")
        return saved
    best = files.checkpoint("best")
    begin = shlex.quote(f"init_from={best}")
    instead = f"with another run_dir, {begin} begins with its best weights"
    raise CheckpointError(
        f"the run cannot go on: {'; '.join(reasons)}: {instead if peek(best) else 'train anew'}"
    )


def set_aside(files: RunFiles, found: Checkpoint, notice: Callable[[str], None]) -> None:
    """Keep what would be replaced where another than `last` was found, under another name.

    That is a damaged `last`, and a `best` that is newer than what the run goes on from.

    Raises OutputError.
    """
    last, best = map(files.checkpoint, ("last", "best"))
    if found.file.name == last.name:
        return
    if last.exists():
        disk.rename(last, last.with_name(f"last.damaged_{time.strftime('%Y%m%d_%H%M%S')}"))
    step = ((peek(best) or {}).get("metrics") or {}).get("step")
    if isinstance(step, int) and step > found.metrics["step"]:
        kept = best.with_stem(f"best.step_{step}")
        disk.write(kept, best.read_bytes())
        notice(f"the best checkpoint is of step {step}, after this one: it is kept as {kept}, too")


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
