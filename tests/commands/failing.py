"""Run by torchrun: the command, whose second process finds no file where there was one."""

from pathlib import Path
from typing import Any

from seqkit import cli
from seqkit.api import training_data
from seqkit.foundation.processes import place

_read = training_data.read


def read(*arguments: Any) -> Any:
    """Read the data, unless this is the second process."""
    if not place().leads:
        Path("/nowhere/at all").read_bytes()
    return _read(*arguments)


if __name__ == "__main__":
    training_data.read = read  # type: ignore[assignment]
    cli.entry()
