"""What an earlier run left in a folder in which a run starts again: kept in a folder of its own.

So it is where the checkpoints to go on from were lost or taken away, and results are left. That
folder, earlier_1 or the first number that is free, is a run like any other.
"""

import itertools
from pathlib import Path

from seqkit import disk
from seqkit.runs.layout import RunFiles


def place(files: RunFiles) -> Path | None:
    """Where `keep` would move the earlier run; None where it has no results, or can go on."""
    worth = files.checkpoint("best").exists() or files.summary.exists()
    if files.has_training_states or not worth:
        return None
    names = (files.path / f"earlier_{number}" for number in itertools.count(1))
    return next(folder for folder in names if not folder.exists())


def keep(files: RunFiles) -> None:
    """Move what an earlier run left out of the way, if `place` says so. Raises OutputError."""
    folder = place(files)
    if folder is None:
        return
    # What tells that there is something to keep goes last, in case of a kill.
    telling = {files.summary, files.checkpoint("best")}
    for file in sorted(files.written, key=telling.__contains__):
        target = folder / file.relative_to(files.path)
        disk.make_folder(target.parent)
        disk.rename(file, target)
