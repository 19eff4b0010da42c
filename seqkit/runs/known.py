"""Whether a folder holds a run: other programs, too, have files of the names that a run has."""

from pathlib import Path

from seqkit.foundation import disk
from seqkit.foundation.errors import CheckpointError
from seqkit.runs import metrics, own_config
from seqkit.runs.layout import RunFiles, names_of, runs_below


def require_run(path: Path) -> None:
    """Raise CheckpointError if there is no run in a folder."""
    try:
        if _is_run(RunFiles(path)):
            return
        instead = _instead_of_a_run(path)
    except (OSError, ValueError) as error:  # ValueError: a name with a NUL
        reason = disk.describe(error) if isinstance(error, OSError) else str(error)
        raise CheckpointError(f"run_dir={path}: cannot be read: {reason}") from error
    raise CheckpointError(f"run_dir={path}: {instead}")


def is_used(files: RunFiles) -> bool:
    """Whether there is a run's config, or checkpoints, which a training may have written."""
    return files.has_checkpoints or own_config.is_a_runs(files.config)


def _is_run(files: RunFiles) -> bool:
    """Whether there is a run to report on, damaged or not. Raises OSError, ValueError."""
    if not (files.config.is_file() or files.metrics.is_file()):
        return False
    return is_used(files) or metrics.has_events(files.metrics)


def _instead_of_a_run(path: Path) -> str:
    if not path.is_dir():
        return "no such folder: give the folder of a run"
    if runs := runs_below(path):
        return f"it holds the runs {names_of(runs, path)}: give the folder of one"
    return "no run in this folder: give the folder of a run"
