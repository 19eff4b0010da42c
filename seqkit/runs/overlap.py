"""What a training reads must not lie in the folder that it writes to."""

import os
from pathlib import Path

from seqkit.config import Config
from seqkit.data import pipes, remote
from seqkit.foundation.errors import OutputError


def check_apart(config: Config, run: Path) -> None:
    """Look where the data of a new run, its prompt, and the weights that it starts from lie.

    Data in a folder above the run's are apart from it: runs are left out there.

    Raises:
        OutputError: they lie in the run's folder, perhaps by a link.
    """
    files = [path for path in config.data.path if not (pipes.is_pipe(path) or _is_far(path))]
    read = [("data.path", path) for path in files]
    for key in ("prompt_file", "prompt_audio", "init_from"):
        read += [(key, path)] if (path := getattr(config, key)) else []
    own = os.path.realpath(run)
    for key, path in read:
        if Path(os.path.realpath(path)).is_relative_to(own):
            raise OutputError(f"{key}={path} lies in {run}, the run's own folder: give another one")


def _is_far(path: str) -> bool:
    return remote.is_remote(path) and not os.path.lexists(path)
