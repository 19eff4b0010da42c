"""Which files are read: those that are named, and what is chosen in folders.

Nothing is left out in silence: what was taken is counted, and what was not by its reason.
"""

import os
import shlex
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data import files
from seqkit.data.encoders import check_plain
from seqkit.data.files import SOUND_HINT, TEXT_HINT, BadFileError
from seqkit.data.sound import reader
from seqkit.foundation.errors import DataError
from seqkit.foundation.run_folders import is_run
from seqkit.foundation.wording import composed, first_of

_HINTS = {"not named as sound": TEXT_HINT, "sound": SOUND_HINT}
"""Where nothing is taken, by the reason for which files are left out."""
_OF_WINDOWS = {"desktop.ini", "thumbs.db"}  # which it shows nobody
_WORDS = {"audio": "file of sound", "text": "file of text", "bytes": "file"}
Entry = tuple[int, Path]
"""The number of a path of data, from 1, and a file at or below it."""


@dataclass
class Search:
    """The files of some paths, and what is left out on the way.

    config: the `data.*` keys; its pattern chooses instead of the kind.
    kind: what is taken of folders: audio goes by the name; text by the content, but for files named
        .txt; bytes takes all; auto is one of the first two, as `named` finds. What is known to be
        no text cannot be read as text.
    errors: why files and folders cannot be read that are left out.
    left_out: how many other files, by the reason.
    """

    config: DataConfig
    kind: str
    errors: list[BadFileError] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)

    def files(self, paths: Sequence[Path]) -> Iterator[Entry]:
        """Each file once, with its path's number (from 1), in no order within a path.

        Raises DataError: a path, or without data.on_bad_file=skip a file below it, cannot be read.
        """
        return self._chosen(paths, self._all(paths))

    def named(self, paths: Sequence[Path]) -> dict[str, Path]:
        """The files in the order of the paths, and of their names; each by a name of its own.

        The name is the path within the folder, with / between folders; of several paths, it comes
        after the path's number, as in 2/chapter.txt. The kind auto is settled.

        Raises DataError: there are none, and as `files` does.
        """
        found = [*self._all(paths)]
        if self.kind == "auto":
            self.kind = self._kind_of(paths, found)
        named = {}
        for number, file in sorted(self._chosen(paths, found)):
            name = _name_in(paths[number - 1], file) or file.name
            named[f"{number}/{name}" if len(paths) > 1 else name] = file
        if not named:
            shown = " and ".join(map(str, paths))
            hint = next((hint for reason, hint in _HINTS.items() if self.left_out[reason]), "")
            why = [f"no {_WORDS[self.kind]}", self._left_out(), self._unreadable(), hint]
            raise DataError(f"{shown}: {'; '.join(filter(None, why))}")
        return named

    def note(self, taken: int) -> str:
        """What was taken and left, in one line; of sound what was left: its reader counts it."""
        what = _WORDS[self.kind] if taken == 1 else _WORDS[self.kind].replace("file", "files")
        parts = ["" if self.kind == "audio" else f"{taken} {what} taken", self._left_out()]
        if self.errors:
            parts.append(f"{len(self.errors)} cannot be read: {self._unreadable()}")
        return "; ".join(filter(None, parts))

    def _left_out(self) -> str:
        reasons = ", ".join(f"{count} {reason}" for reason, count in self.left_out.items())
        return f"left out: {reasons}" if reasons else ""

    def _unreadable(self) -> str:
        each = ((bad.file, bad.reason.removeprefix("cannot be read: ")) for bad in self.errors)
        return first_of([f"{file} ({reason})" for file, reason in each])

    def _refuse(self, error: BadFileError) -> None:
        """Leave a file out that cannot be read. Raises DataError where this is not asked for."""
        if self.config.on_bad_file != "skip":
            raise error.refusal() from error
        self.errors.append(error)

    def _all(self, paths: Sequence[Path]) -> Iterator[Entry]:
        """Everything at the paths, and below those that are folders."""
        for number, path in enumerate(paths, 1):
            if not is_folder(path):
                yield number, path
            elif is_run(path):
                advice = f"doctor {shlex.quote(f'run_dir={path}')} says how it went"
                raise DataError(f"{path}: what a training left, no data: {advice}")
            else:
                yield from ((number, file) for file in self._below(path))

    def _below(self, folder: Path) -> Iterator[Path]:
        """All files below a folder, but for runs and what is hidden; links are followed once."""
        top, seen = Path(os.path.realpath(folder)), set[str]()

        def refused(error: OSError) -> None:
            self._refuse(BadFileError.of(Path(error.filename), error))

        for name, folders, names in os.walk(folder, onerror=refused, followlinks=True):
            place, real = Path(name), os.path.realpath(name)
            if real in seen or (place != folder and top.is_relative_to(real)):
                self.left_out["linked in a circle or twice"] += 1
                folders.clear()
                continue
            seen.add(real)
            hidden = {each for each in (*folders, *names) if each.startswith(".")}
            hidden |= {each for each in names if each.lower() in _OF_WINDOWS or each[-1] == "~"}
            runs = {each for each in {*folders} - hidden if is_run(place / each)}
            logs = {f"{run}.log" for run in runs} & {*names}  # which a sweep writes beside them
            reasons = {"hidden": hidden, "with a run in it": runs, "the log of a run": logs}
            self.left_out.update({reason: len(those) for reason, those in reasons.items() if those})
            folders[:] = sorted({*folders} - hidden - runs)
            yield from (place / each for each in sorted({*names} - hidden - logs))

    def _kind_of(self, paths: Sequence[Path], found: Sequence[Entry]) -> str:
        """Whether data.kind=auto takes the paths for sound or for text.

        A file that is named or opens as sound is sound, and a folder in which at least half of the
        files are named so.

        Raises DataError: one path is sound, and another one is not.
        """
        sound = list[bool]()
        for number, path in enumerate(paths, 1):
            inside = [file for place, file in found if place == number and file != path]
            inside = [file for file in inside if matches(_name_in(path, file), self.config.pattern)]
            count = sum(map(_is_named_sound, inside))
            sound.append(0 < count >= len(inside) - count if path.is_dir() else _is_sound(path))
        if any(sound) and not all(sound):
            one, other = paths[sound.index(True)], paths[sound.index(False)]
            raise DataError(f"{one} is sound and {other} is not: a model learns from one of them")
        return "audio" if all(sound) else "text"

    def _chosen(self, paths: Sequence[Path], found: Iterable[Entry]) -> Iterator[Entry]:
        """The files that are taken, each once."""
        seen = set[str]()
        for number, file in found:
            try:
                reason = self._fault(file, _name_in(paths[number - 1], file))
            except OSError as error:
                self._refuse(BadFileError.of(file, error))
                continue
            except BadFileError as error:
                if [file] == [*paths]:
                    raise
                self._refuse(error)
                continue
            if not reason and (real := os.path.realpath(file)) in seen:
                reason = "given twice"
            if reason:
                self.left_out[reason] += 1
                continue
            seen.add(real)
            yield number, file

    def _fault(self, file: Path, name: str) -> str:
        """Why a file is left out for its name or what it is; empty if it is not.

        `name` is its own in a folder; empty for a path that is given, which is never left out for
        it.

        Raises OSError, BadFileError: it cannot be read, or is known to be something else than text.
        """
        if name and self.config.pattern and not matches(name, self.config.pattern):
            return f"not {self.config.pattern}"
        if name and self.kind == "audio" and not self.config.pattern and not _is_named_sound(file):
            return "not named as sound"
        status = file.stat()
        if not stat.S_ISREG(status.st_mode):  # not to be opened: it might never end
            return "neither file nor folder"
        if not status.st_size and self.kind != "audio":
            return "empty"
        if self.kind != "text":
            file.open("rb").close()
            return ""
        begin = files.head(file)
        by_content = name and not self.config.pattern and not name.lower().endswith(".txt")
        if by_content and not files.is_text(begin, self.config.encoding):
            known = files.meant(begin).partition(":")[0]
            return "sound" if _is_named_sound(file) else f"not text{' but ' * bool(known)}{known}"
        check_plain(file, begin, self.config.encoding)
        return ""


def matches(name: str, pattern: str) -> bool:
    """Whether a name, a path with / between folders, is one of `data.pattern`; all are of none.

    The case of letters does not matter.
    """
    name, last = composed(name).lower(), composed(name).lower().rpartition("/")[2]
    globs = [glob.strip().lower() for glob in composed(pattern).split(",")]
    globs += [glob.replace("**/", "") for glob in globs]  # ** stands for no folder, too
    matching = (fnmatchcase(name if "/" in glob else last, glob) for glob in globs)
    return not pattern or any(matching)


def is_folder(path: Path) -> bool:
    """Whether a path is a folder, and not a file. Raises DataError: it is neither, or not there."""
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise BadFileError.of(path, error) from error
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise DataError(f"{path} is neither a file nor a folder")
    return stat.S_ISDIR(mode)


def _is_named_sound(file: Path) -> bool:
    return file.suffix.lower() in reader.SUFFIXES


def _is_sound(file: Path) -> bool:
    """Whether a file is named or opens as sound."""
    return _is_named_sound(file) or (file.suffix.lower() != ".txt" and reader.is_sound(file))


def _name_in(path: Path, file: Path) -> str:
    """A file's path within a folder, with / between folders; empty for the path itself."""
    return "" if file == path else file.relative_to(path).as_posix()
