"""What the tests of composing share."""

from pathlib import Path

from seqkit import compose
from seqkit.config import Config
from seqkit.foundation.catalogue import Catalogue


def composed(arguments: list[str], config_dirs: list[Path]) -> Config:
    """The config of arguments, and what a command makes of its `plugins`."""
    config = compose.compose(arguments, config_dirs)
    Catalogue(config.plugins)
    return config
