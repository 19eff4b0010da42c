"""Data sets by name; seqkit's own are in `download` and `etude`, and listed in the catalogue.

A data set is anything with a function `locate(folders) -> Located` (docs/reference/data.md).
"""

import hashlib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data.file_search import Search, is_folder
from seqkit.data.files import stamp
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import DataError
from seqkit.foundation.wording import composed


@dataclass(frozen=True)
class Located:
    """Where a data set's file or folder is, and what is known of it.

    others: more files and folders of it, which come after `path`.
    stands_in: it is a sample in the place of the data set, which could not be had.
    validation, test: patterns for the files of its own validation and test part, such as
        "*_[0-4].wav"; one with a / is for the path within the folder, such as "test/*".
    """

    path: Path
    name: str
    validation: str = ""
    test: str = ""
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
            if pattern and fnmatchcase(composed(matched), composed(pattern)):
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

        Raises DataError: there is no such folder.
        """
        chosen = os.environ.get("SEQKIT_DATA_DIR")
        if chosen and not Path(chosen).is_dir():
            raise DataError(f"SEQKIT_DATA_DIR={chosen}: no such folder")
        return Path(chosen) if chosen else None


@dataclass(frozen=True)
class Source:
    """The files of a data set.

    config: the `data.*` keys.
    located: where they are, and the data set's own parts.
    files: by name, in the order in which their hashes are listed.
    search: how they were found.
    catalogue: where their codec is looked for.
    """

    config: DataConfig
    located: Located
    files: Mapping[str, Path]
    search: Search
    catalogue: Catalogue

    @property
    def is_sound(self) -> bool:
        """Whether they are read as sound."""
        return self.search.kind == "audio"

    @cached_property
    def documents(self) -> dict[str, Path]:
        """The files in the order of the documents: the data set's own parts come last.

        Those that cannot be read are not among them: see `corpus_cache.leave_out`.
        Sound stands in an order that depends on nothing but the names and looks random, so that a
        split takes some of everything.
        """
        part_of, bad = self.located.part_of, {error.file for error in self.search.errors}
        names = sorted((name for name, file in self.files.items() if file not in bad), key=part_of)
        if self.is_sound:
            names.sort(key=lambda name: (part_of(name), hashlib.sha256(os.fsencode(name)).digest()))
        return {name: self.files[name] for name in names}

    @cached_property
    def stamps(self) -> dict[str, list[int]]:
        """The size of each file, and when its content, and its status, last changed.

        Raises BadFileError.
        """
        return {name: stamp(file) for name, file in self.files.items()}

    @property
    def bytes(self) -> int:
        """Of all files. Raises BadFileError."""
        return sum(stamped[0] for stamped in self.stamps.values())

    def check_unchanged(self) -> None:
        """Raise DataError if a file is another than at the first look."""
        for name, file in self.files.items():
            if stamp(file) != self.stamps[name]:
                raise DataError(f"{file}: changed while it was read: start again")

    def sha256_of(self, of_files: Mapping[str, str]) -> str:
        """That of the only file, or of a folder's listing as `sha256sum` prints it."""
        if not (self.located.others or self.located.path.is_dir()):
            return next(iter(of_files.values()))
        listing = "".join(f"{sha256}  {name}\n" for name, sha256 in of_files.items())
        return hashlib.sha256(listing.encode("utf-8", "surrogateescape")).hexdigest()

    @property
    def notes(self) -> list[str]:
        """What the user is told of the choice of files."""
        search = self.search
        of_folder = not self.is_sound and any(map(is_folder, self.located.paths))
        told = of_folder or search.left_out or search.errors
        return [search.note(len(self.documents))] if told else []
