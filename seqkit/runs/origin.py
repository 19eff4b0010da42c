"""The checkpoint that a new run starts from."""

from pathlib import Path

from seqkit.errors import CheckpointError
from seqkit.runs.layout import find_checkpoint


def find_origin(place: str) -> Path:
    """The checkpoint that `init_from=` means: a file, or a run folder's best one.

    Raises:
        CheckpointError: there is none.
    """
    try:
        return find_checkpoint(Path(place))
    except CheckpointError as error:  # which names the key of other commands
        key = "the newest: {}="
        said = str(error).replace(key.format("checkpoint"), key.format("init_from"))
        raise CheckpointError(said) from error
