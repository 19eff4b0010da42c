"""Data sets by name; seqkit's own are in `download` and `etude`, and listed in the catalogue.

A data set is anything with a function `locate(folders) -> Located` (docs/reference/data.md).
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError, failures_of


@dataclass(frozen=True)
class Located:
    """Where a data set's file or folder is, and what is known of it.

    others: more files and folders of it, which come after `path`.
    stands_in: it is a sample in the place of the data set, which could not be had.
    validation, test: patterns for the files of its own validation and test part, such as
        "*_[0-4].wav"; one with a / is for the path within the folder, such as "test/*".
    licence, citation: kept in checkpoints, and shown when a training starts.
    """

    path: Path
    name: str
    validation: str = ""
    test: str = ""
    licence: str = ""
    citation: str = ""
    others: tuple[Path, ...] = ()
    stands_in: bool = False

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files and folders, in their order."""
        return (self.path, *self.others)

    def __str__(self) -> str:
        return " and ".join(map(str, self.paths))

    def part_of(self, name: str) -> int:
        """The part that a file belongs to: 0 training, 1 validation, 2 test.

        `name` is its path within the folder, with / between folders.
        """
        for part, pattern in ((2, self.test), (1, self.validation)):
            matched = name if "/" in pattern else name.rpartition("/")[2]
            if pattern and fnmatchcase(matched, pattern):
                return part
        return 0


@dataclass(frozen=True)
class Shipped:
    """A data set that is a text beside this file."""

    name: str

    def locate(self, folders: "Folders") -> Located:
        """The text."""
        return Located(Path(__file__).with_name(f"{self.name}.txt"), self.name)


TOY_SENTENCE = Shipped("toy_sentence")
"""One sentence, eight times: what the network of docs/how/cudnn.md is to learn by heart."""


@dataclass(frozen=True)
class Folders:
    """Where data sets may look, and how they tell the user something.

    samples: whether a sample may stand in for a data set that cannot be had.
    progress: shows something long, as in `with folders.progress("downloading", size, unit="B")
        as bar: bar.update(done)`.
    """

    cache: Path
    notice: Callable[[str], None]
    progress: Progress = unseen
    samples: bool = True

    @property
    def data(self) -> Path | None:
        """The folder of data that the user keeps, from SEQKIT_DATA_DIR.

        Raises:
            DataError: there is no such folder.
        """
        chosen = os.environ.get("SEQKIT_DATA_DIR")
        if chosen and not Path(chosen).is_dir():
            raise DataError(f"SEQKIT_DATA_DIR={chosen}: no such folder")
        return Path(chosen) if chosen else None


def locate(name: str, catalogue: Catalogue, folders: Folders) -> Located:
    """Find the files of the data set `name`.

    Raises:
        ConfigError: nothing has the name, or what has it fails.
        DataError: the data set cannot be had.
    """
    dataset = catalogue.find("datasets", name)
    with failures_of(f"data.dataset={name}: its locate(folders)"):
        located = dataset.locate(folders)
    if not isinstance(located, Located):
        raise ConfigError(f"data.dataset={name}: locate(folders) returns no Located(path, name)")
    return located
