"""The saved states of a run: which one it goes on from."""

from collections.abc import Callable

from seqkit import disk
from seqkit.errors import CheckpointError
from seqkit.plugins import Catalogue
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.layout import STATES, RunFiles


def load_last(
    files: RunFiles, catalogue: Catalogue, notice: Callable[[str], None]
) -> Checkpoint | None:
    """The newest whole checkpoint with a training state; None if the run never saved one.

    One that is damaged is passed over and set aside, with a notice.

    Raises:
        CheckpointError: there are some, and all are damaged.
    """
    damaged = []
    # A whole `next` is newer than the others: the run was killed before it became `last`.
    for name in STATES:
        file = files.checkpoint(name)
        if not file.exists():
            continue
        try:
            found = checkpoint.load(file, catalogue, advise=False)
            if found.training is None:
                raise CheckpointError(f"{file}: it holds no training state")
        except CheckpointError as error:
            damaged.append((file, error))
            continue
        for other, reason in damaged:
            notice(f"{reason}; going on from {file.name}")
            disk.rename(other, other.with_suffix(".damaged"))
        if name == "next":  # the run may be finished, and never save again
            take_next(files)
        return found
    if damaged:
        others = "".join(f"; nor is {file.name} of use" for file, _ in damaged[1:])
        raise CheckpointError(f"the run cannot go on: {damaged[0][1]}{others}")
    return None


def take_next(files: RunFiles) -> None:
    """Make `next` the last checkpoint."""
    last = files.checkpoint("last")
    if last.exists():
        disk.rename(last, files.checkpoint("previous"))
    disk.rename(files.checkpoint("next"), last)
