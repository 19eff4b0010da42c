"""The config of a training: that of its arguments, or that of the run which goes on."""

from pathlib import Path

from seqkit import compose
from seqkit.compose import Composed


def compose_training(arguments: list[str], config_dirs: list[Path]) -> Composed:
    """As `compose`, but a run that is to go on without a recipe has its own settings.

    Raises:
        ConfigError: as `compose`, or there is no run in the folder.
        CheckpointError: the run's settings cannot be read.
    """
    composed = compose.compose(arguments, config_dirs)
    asked = composed.config
    if asked.recipe or not asked.run_dir or asked.resume == "never":
        return composed
    from seqkit.runs.resume import read_config  # which takes half a second

    return compose.going_on(composed, read_config(Path(asked.run_dir)), arguments)
