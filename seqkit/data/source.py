"""The files of a data set, and what tells that they changed."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data.codecs import Codec
from seqkit.data.datasets import Located
from seqkit.data.file_search import Search, is_folder
from seqkit.data.files import stamp
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import DataError


def _rank(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogateescape")).digest()


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

    @classmethod
    def of(cls, config: DataConfig, located: Located, kind: str, catalogue: Catalogue) -> "Source":
        """Those at some paths, as a kind or `auto` takes them.

        Raises:
            DataError: there are none, also of a part that the data set names as its own; or one
                cannot be read.
        """
        search = Search(config, kind)
        files = search.named(located.paths)
        parts = {located.part_of(name) for name in files}
        for part, pattern in ((1, located.validation), (2, located.test)):
            if pattern and part not in parts:
                raise DataError(
                    f"{located}: no file matches {pattern}, the {('validation', 'test')[part - 1]} "
                    f"part of {located.name}"
                )
        return cls(config, located, files, search, catalogue)

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
            names.sort(key=lambda name: (part_of(name), _rank(name)))
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

    def notes(self, codec: Codec) -> list[str]:
        """What the user is told of the choice of files."""
        notes, search = list[str](), self.search
        if codec.kind == "bytes" and (self.config.kind, self.config.codec) == ("auto", "auto"):
            notes.append("not text: read as bytes, as with data.kind=bytes")
        of_folder = not self.is_sound and any(map(is_folder, self.located.paths))
        if of_folder or search.left_out or search.errors:
            notes.append(search.note(len(self.documents)))
        return notes
