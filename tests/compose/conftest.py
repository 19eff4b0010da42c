"""What the tests of composing share."""

from pathlib import Path

from seqkit import compose
from seqkit.config import Config


def composed(arguments: list[str], config_dirs: list[Path]) -> Config:
    return compose.compose(arguments, config_dirs).config
