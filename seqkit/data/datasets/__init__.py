"""Data sets by name: each module here finds, downloads or makes the files of one data set.

A data set is anything with a function `locate(folders) -> Located` (docs/datasets.md).
"""

import importlib
import os
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from seqkit.errors import ConfigError


@dataclass(frozen=True)
class Located:
    """Where a data set's file or folder is, and what it is called.

    `test` is a pattern for the names of the files (of sound) in its own test part.
    """

    path: Path
    name: str
    test: str = ""


@dataclass(frozen=True)
class Folders:
    """Where data sets may look, and how they tell the user something."""

    cache: Path
    notice: Callable[[str], None]

    @property
    def data(self) -> Path | None:
        """The folder of data that the user keeps, from SEQKIT_DATA_DIR."""
        chosen = os.environ.get("SEQKIT_DATA_DIR")
        return Path(chosen) if chosen else None


def names() -> list[str]:
    """The data sets that come with seqkit."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def locate(name: str, folders: Folders) -> Located:
    """Find the dataset `name`: a module of this package, or the dotted path of one's own module.

    Raises:
        ConfigError: there is no such module, or it has no function `locate`.
        DataError: the dataset cannot be had.
    """
    module = _module(name)
    function = getattr(module, "locate", None)
    if function is None:
        raise ConfigError(f"data.dataset={name}: the module has no function locate(folders)")
    located = function(folders)
    if not isinstance(located, Located):
        raise ConfigError(f"data.dataset={name}: locate(folders) returns no Located(path, name)")
    return located


def _module(name: str) -> ModuleType:
    path = name if "." in name else f"{__name__}.{name}"
    missing = ConfigError(
        f"data.dataset={name}: no such module; there are {', '.join(names())}, and your own "
        "by its dotted path"
    )
    if not all(part.isidentifier() for part in name.split(".")):
        raise missing
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise
        raise missing from error
