"""The checkpoint that `checkpoint=` or `init_from=` names: a path, or a ready-made model.

A path that is there comes before a ready-made model of the same name.
"""

import os
from pathlib import Path

from seqkit.foundation.checkpoint_files import SUFFIX
from seqkit.runs.layout import READY_MADE, find_checkpoint


def is_path(name: str) -> bool:
    """Whether a name is a path, there or not."""
    return os.path.lexists(name) or name not in ready_made()


def ready_made() -> list[str]:
    """The names of the checkpoints that come with seqkit."""
    return sorted(file.stem for file in READY_MADE.glob(f"*{SUFFIX}"))


def absolute(name: str) -> str:
    """A name as it is known from every folder."""
    return str(Path(name).absolute()) if is_path(name) else name


def located(name: str) -> Path:
    """The file that a name means. Raises CheckpointError: there is none."""
    return find_checkpoint(Path(name)) if is_path(name) else READY_MADE / f"{name}{SUFFIX}"
