"""The folders of runs that a user means."""

import glob
from pathlib import Path

from seqkit.foundation.errors import ConfigError
from seqkit.runs.layout import is_run, runs_below


def find(pattern: str) -> tuple[list[Path], list[Path]]:
    """The folders of runs that a glob matches or that lie in what it matches; and other matches.

    Raises:
        ConfigError: there is no run.
    """
    matches = [pattern] if Path(pattern).is_dir() else _glob(pattern)
    runs: dict[Path, None] = {}
    others = []
    for match in (folder for folder in map(Path, matches) if folder.is_dir()):
        inside = [match] if is_run(match) else runs_below(match)
        runs |= dict.fromkeys(inside)
        if not inside:
            others.append(match)
    if not runs:
        raise ConfigError(
            f"runs={pattern}: no run there: give a folder of runs, or a glob as in runs='runs/*'"
        )
    return list(runs), others


def _glob(pattern: str) -> list[str]:
    # Path.glob takes no absolute pattern.
    return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
