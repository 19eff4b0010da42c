"""What a training reads must not lie in the folder that it writes to, or that it clears."""

import contextlib
import os
from pathlib import Path

from seqkit.config import Config
from seqkit.data import pipes, remote
from seqkit.foundation.errors import CheckpointError, OutputError
from seqkit.runs.layout import RunFiles, find_checkpoint


def check_apart(config: Config, run: Path, *, replaced: bool) -> None:
    """Look where the data of a new run, its prompt, and the weights that it starts from lie.

    Data in a folder above the run's are apart from it: runs are left out there.

    Args:
        config: of the training.
        run: the folder that a training writes to.
        replaced: whether `overwrite=true` removes what trainings left there.

    Raises:
        OutputError: they lie in that folder, perhaps by a link.
    """
    does = "which overwrite=true replaces" if replaced else "the run's own folder"
    for path in config.data.path:
        local = os.path.lexists(path) and not (pipes.is_pipe(path) or remote.is_remote(path))
        if local and _lies_in(Path(path), run):
            raise OutputError(f"data.path={path} lies in {run}, {does}: give another run_dir")
    written = {os.path.realpath(file) for file in RunFiles(run).written}
    for key, prompt in (("prompt_file", config.prompt_file), ("prompt_audio", config.prompt_audio)):
        if prompt is not None and os.path.realpath(prompt) in written:
            raise OutputError(f"{key}={prompt} is of the run in {run}, {does}: copy it first")
    if config.init_from is None:
        return
    origin = Path(config.init_from)
    places = [origin]
    with contextlib.suppress(CheckpointError):  # the training itself tells
        places.append(find_checkpoint(origin))
    # A run that starts again replaces nothing, but moves its checkpoints away.
    own = [os.path.realpath(file) for file in RunFiles(run).saved]
    if any(
        _lies_in(place, run) if replaced else os.path.realpath(place) in own for place in places
    ):
        raise OutputError(f"init_from={origin} lies in {run}, {does}: give another run_dir")


def _lies_in(place: Path, run: Path) -> bool:
    """Whether a file or folder is a run's folder, or lies in it or in one that it links to."""
    files = RunFiles(run)
    try:
        real = Path(os.path.realpath(place))
        folders = (run, files.checkpoints, files.samples, files.tensorboard)
        return any(real.is_relative_to(os.path.realpath(folder)) for folder in folders)
    except (OSError, ValueError):  # a name that cannot be: who opens it tells
        return False
