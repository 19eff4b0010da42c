"""Which files are read: those that are named, and what is chosen in folders.

Nothing is left out in silence: what was taken is counted, and what was not by its reason.
"""

import itertools
import os
import shlex
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import file_type
from seqkit.data.bad_files import SOUND_HINT, TEXT_HINT, BadFileError, BadFiles
from seqkit.data.folder_walk import is_broken_link, is_folder, walk
from seqkit.data.shards.index import are_unfinished
from seqkit.data.sound import reader
from seqkit.foundation.checkpoint_files import is_run
from seqkit.foundation.errors import DataError

_BLOCK = 1 << 22  # bytes
_NAMED = 3  # files
_GLOB = frozenset("*?[")
_TABLES = "Parquet or Arrow"
_HINTS = {  # where nothing is taken, by the reason for which files are left out
    _TABLES: "data.kind=hf data.column=NAME learns from a column of these",
    "not sound": TEXT_HINT,
    "sound": SOUND_HINT,
}
Entry = tuple[int, Path, str]
"""The number of a path of data, from 1, a file at or below it, and its place behind all links."""
_WORDS = {"audio": "file of sound", "text": "file of text", "bytes": "file"}


@dataclass(frozen=True)
class Choice:
    """What is taken of a folder: what a pattern matches, or else all files of a kind.

    kind: audio goes by the name; text by the content, but for files named .txt; bytes takes all;
        auto is one of the first two, as `Search.named` finds.
    pattern: `data.pattern`.
    encoding: of text.
    """

    kind: str
    pattern: str = ""
    encoding: str = "utf-8"

    def __str__(self) -> str:
        return _WORDS[self.kind]

    def against_name(self, name: str) -> str:
        """Why a file is left out for its name, a path with / between folders; empty if it is not.

        The case of letters does not matter.
        """
        name = name.lower()
        if self.pattern:
            last = name.rpartition("/")[2]
            globs = [glob.strip().lower() for glob in self.pattern.split(",")]
            globs += [glob.replace("**/", "") for glob in globs]  # ** stands for no folder, too
            matched = any(fnmatchcase(name if "/" in glob else last, glob) for glob in globs)
            return "" if matched else f"not {self.pattern}"
        return "not sound" if self.kind == "audio" and not is_named_as_sound(name) else ""

    def against_size(self, size: int) -> str:
        """Why a file of so many bytes is left out; sound without content is faulty instead."""
        return "empty" if not size and self.kind != "audio" else ""

    def goes_by_content(self, name: str) -> bool:
        """Whether a file has to be looked into."""
        return self.kind == "text" and not self.pattern and not name.lower().endswith(".txt")

    def against_content(self, name: str, begin: bytes) -> str:
        """Why a file that is called and begins so is left out.

        Text in another encoding is not: it is an error when it is read.
        """
        if file_type.table(name, begin):
            return _TABLES
        if file_type.is_text(begin, self.encoding):
            return ""
        return "sound" if is_named_as_sound(name) else "not text"


@dataclass
class Search:
    """The files of some paths, and what is left out on the way.

    choice: what is taken of folders.
    bad: what becomes of files and folders that cannot be read.
    left_out: how many files, by the reason.
    """

    choice: Choice
    bad: BadFiles
    left_out: Counter[str] = field(default_factory=Counter)

    def files(self, paths: Sequence[Path]) -> Iterator[tuple[int, Path]]:
        """Each file once, with its path's number (from 1), in no order within a path.

        Raises:
            DataError: a path, or with on_bad_file=error a file below it, cannot be read.
        """
        return self._chosen(paths, self._all(paths))

    def named(self, paths: Sequence[Path]) -> dict[str, Path]:
        """The files in the order of the paths, and of their names; each by a name of its own.

        The name is the path within the folder, with / between folders; of several paths, it comes
        after the path's number, as in 2/chapter.txt. A choice of the kind auto is settled.

        Raises:
            DataError: there are none, and as `files` does.
        """
        found = [*self._all(paths)]
        if self.choice.kind == "auto":
            self.choice = replace(self.choice, kind=self._kind_of(paths, found))
        named = {}
        for number, file in sorted(self._chosen(paths, found)):
            path = paths[number - 1]
            name = file.name if file == path else name_in(path, file)
            named[f"{number}/{name}" if len(paths) > 1 else name] = file
        if not named:
            shown = " and ".join(map(str, paths))
            hint = next((hint for reason, hint in _HINTS.items() if self.left_out[reason]), "")
            why = "; ".join(filter(None, [self._left_out(), str(self.bad), hint]))
            raise DataError(f"{shown}: the folder holds no {self.choice}{why and ': '}{why}")
        return named

    def note(self, taken: int) -> str:
        """What was taken and left, in one line."""
        what = str(self.choice) if taken == 1 else str(self.choice).replace("file", "files")
        told = [f"{taken} {what} taken", self._left_out()]
        if self.bad.errors:
            told.append(f"{len(self.bad.errors)} cannot be read: {self.bad}")
        return "; ".join(filter(None, told))

    def _left_out(self) -> str:
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.left_out.items())
        return f"{self.left_out.total()} left out: {reasons}" if reasons else ""

    def _all(self, paths: Sequence[Path]) -> Iterator[Entry]:
        """Everything at the paths, and below those that are folders."""
        for number, path in enumerate(paths, 1):
            if not is_folder(path):
                yield number, path, os.path.realpath(path)
                continue
            if is_run(path):
                told = f"doctor run_dir={path} says how it went"
                raise DataError(f"{path}: what a training left, no data: {told}")
            if are_unfinished(path):
                told = "the command that prepares them goes on with them"
                raise DataError(f"{path}: shards that are not finished: {told}")
            for file, real in walk(path, self.bad, self.left_out):
                yield number, file, real

    def _kind_of(self, paths: Sequence[Path], found: Sequence[Entry]) -> str:
        """Whether data.kind=auto takes the paths for sound or for text.

        A file that is named or opens as sound is sound, and a folder in which at least half of the
        files are named so.

        Raises:
            DataError: one path is sound, and another one is not.
        """
        sound = list[bool]()
        for number, path in enumerate(paths, 1):
            files = [file for one, file, _ in found if one == number]
            names = [name_in(path, file) for file in files if file != path]
            names = [name for name in names if not self.choice.against_name(name)]
            count = sum(map(is_named_as_sound, names))
            sound.append(_is_sound(path) if files == [path] else 0 < count >= len(names) - count)
        if any(sound) and not all(sound):
            one, other = paths[sound.index(True)], paths[sound.index(False)]
            raise DataError(f"{one} is sound and {other} is not: a model learns from one of them")
        return "audio" if all(sound) else "text"

    def _chosen(self, paths: Sequence[Path], found: Iterable[Entry]) -> Iterator[tuple[int, Path]]:
        """The files that are taken, each once."""
        seen = set[str]()
        for number, file, real in found:
            if file != (path := paths[number - 1]) and not self._takes(file, name_in(path, file)):
                continue
            if real in seen:
                self.left_out["given twice"] += 1
                continue
            seen.add(real)
            yield number, file

    def _takes(self, file: Path, name: str) -> bool:
        """Whether a file in a folder is taken."""
        try:
            reason = self.choice.against_name(name) or self._look_at(file, name)
        except BadFileError as error:
            self.bad.leave_out(error)
            return False
        except OSError as error:
            self.bad.leave_out(BadFileError.of(file, error))
            return False
        if reason:
            self.left_out[reason] += 1
        return not reason

    def _look_at(self, file: Path, name: str) -> str:
        """Why a file is left out for what it is. Raises OSError, BadFileError if it cannot be."""
        try:
            status = file.stat()
        except OSError as error:
            if is_broken_link(file, error):
                return "linked to nothing"
            raise
        if not stat.S_ISREG(status.st_mode):  # not to be opened: it might never end
            return "neither file nor folder"
        if reason := self.choice.against_size(status.st_size):
            return reason
        if self.choice.goes_by_content(name):
            return self.choice.against_content(name, head(file))
        file.open("rb").close()
        return ""


def head(file: Path) -> bytes:
    """The first bytes of a file, which tell what it holds. Raises BadFileError."""
    try:
        with file.open("rb", buffering=0) as stream:
            return stream.read(file_type.HEAD)
    except OSError as error:
        raise BadFileError.of(file, error) from error


def blocks(
    file: Path,
    count: Callable[[int], None] = lambda size: None,
    begin: int = 0,
    end: int | None = None,
) -> Iterator[bytes]:
    """The bytes of a file from `begin` to before `end`, some megabytes at a time.

    `count` is told of each block's size.

    Raises:
        BadFileError: it cannot be read.
    """
    try:
        with file.open("rb") as stream:
            place = stream.seek(begin)
            while block := stream.read(_BLOCK if end is None else min(_BLOCK, end - place)):
                place += len(block)
                count(len(block))
                yield block
    except OSError as error:
        raise BadFileError.of(file, error) from error


def name_in(folder: Path, file: Path) -> str:
    """A file's path within a folder, with / between folders."""
    return file.relative_to(folder).as_posix()


def first_of(files: Sequence[Path]) -> str:
    """The first three files by name, and how many more there are."""
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return ", ".join(map(str, files[:_NAMED])) + more


def _is_sound(file: Path) -> bool:
    """Whether a file is named or opens as sound."""
    is_text = file.suffix.lower() == ".txt"
    return is_named_as_sound(file.name) or (not is_text and reader.is_sound(file))


def is_named_as_sound(name: str) -> bool:
    """Whether a file's name ends as those of sound do."""
    return Path(name).suffix.lower() in reader.SUFFIXES


def check_literal(data: DataConfig) -> None:
    """Raise DataError for a list of paths, or a glob, in one; a name may hold such characters."""
    for given in data.path:
        if os.path.lexists(given):
            continue
        parts = [part.strip() for part in given.split(",")]
        if len(parts) > 1 and all(map(os.path.lexists, parts)):
            several = " ".join(f"data.path={part}" for part in parts)
            raise DataError(f"data.path={given}: no such file: for several, give {several}")
        names = Path(given).parts
        fixed = [*itertools.takewhile(lambda name: not _GLOB.intersection(name), names)]
        folder, pattern = Path(*fixed), "/".join(names[len(fixed) :])
        if pattern and "," not in pattern and folder.is_dir():
            keys = f"data.path={shlex.quote(str(folder))}"
            if not data.of_rows:
                keys += f" data.pattern={shlex.quote(pattern)}"
            raise DataError(f"data.path={given}: no such file: give {keys}")
