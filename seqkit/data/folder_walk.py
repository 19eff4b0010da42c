"""What lies below a folder; no folder is read twice, whatever links lead to it."""

import errno
import os
import re
import stat
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from seqkit.data.bad_files import BadFileError, BadFiles
from seqkit.data.shards.index import are_unfinished, is_shards
from seqkit.foundation.checkpoint_files import is_run
from seqkit.foundation.errors import DataError

_LOCK = ".lock"  # a sweep's folder has it before all else, and keeps it
_OF_SWEEPS = re.compile(r"\d+\.log|search\.jsonl(\.lock.*)?")


def walk(folder: Path, bad: BadFiles, left_out: Counter[str]) -> Iterator[tuple[Path, str]]:
    """Everything below a folder that is no folder, but for what seqkit made and what is hidden.

    With each comes the place of the file itself, whatever links led to it.

    Left out are runs, what a sweep writes beside its runs, and shards.

    Links come last, but for those to folders that lead back: up, or to what was read already.
    """
    top = os.path.realpath(folder)
    seen: set[str] = set()
    waiting: list[Path] = [folder]
    links: list[Path] = []
    linked: list[Path] = []
    while waiting or links:
        place = waiting.pop() if waiting else links.pop(0)
        real = os.path.realpath(place)
        if real in seen or (place != folder and Path(top).is_relative_to(real)):
            left_out["linked in a circle or twice"] += 1
            continue
        seen.add(real)
        try:
            with os.scandir(place) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            bad.leave_out(BadFileError.of(place, error))
            continue
        of_sweep = any(entry.name == _LOCK for entry in entries)
        for entry in entries:
            path = place / entry.name
            if entry.name.startswith("."):
                left_out["hidden"] += 1
            elif not _leads_to_folder(path):
                if of_sweep and _OF_SWEEPS.fullmatch(entry.name):
                    left_out["written by a sweep"] += 1
                elif entry.is_symlink():
                    linked.append(path)
                else:
                    yield path, f"{real}{os.sep}{entry.name}"
            elif is_run(path):
                left_out["holding a run"] += 1
            elif is_shards(path) or are_unfinished(path):
                left_out["holding shards"] += 1
            elif entry.is_symlink():
                links.append(path)
            else:
                waiting.append(path)
    yield from ((path, os.path.realpath(path)) for path in linked)


def _leads_to_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # whoever opens it finds out why
        return False


def is_folder(path: Path) -> bool:
    """Whether a path is a folder, and not a file.

    Raises:
        DataError: it is neither, or cannot be opened.
    """
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            return True
        if not stat.S_ISREG(mode):
            raise DataError(f"{path} is neither a file nor a folder")
        with path.open("rb"):
            return False
    except OSError as error:
        if is_broken_link(path, error):
            reason = f"a link to nothing: {path.readlink()} is not there"
            raise BadFileError(path, reason) from error
        raise BadFileError.of(path, error) from error


def is_broken_link(path: Path, error: OSError) -> bool:
    """Whether a path that failed so is a link to something that is not there."""
    gone = error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
    return gone and path.is_symlink()
