"""What a training writes has to lie in its own folder: no name in it may lead elsewhere.

The folder as a whole may be a link. A link in it, as from a stranger or after `cp -a` of a run
whose checkpoints lie on another disk, would have one run write over another; a pipe would be waited
for.
"""

import stat
from pathlib import Path

from seqkit.foundation import disk
from seqkit.foundation.errors import OutputError
from seqkit.runs.layout import RunFiles

_KINDS = {
    stat.S_IFREG: "a file",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def require(files: RunFiles) -> None:
    """Raise OutputError where a folder or file of the run is there and is something else."""
    for folder in files.folders:
        _require(folder, stat.S_IFDIR, "link the whole run folder instead, or move it here")
    for file in (*files.records, *files.sampled, *files.saved):
        _require(file, stat.S_IFREG, "put the file itself in its place")


def unshare(file: Path) -> None:
    """Copy a file that a copy of its folder by hard links shares, before lines are added to it.

    Raises OutputError where it cannot be written.
    """
    if not file.is_symlink() and file.is_file() and file.stat().st_nlink > 1:
        with disk.atomic_write(file) as stream:
            stream.write(file.read_bytes())


def _require(path: Path, kind: int, of_links: str) -> None:
    try:
        found = stat.S_IFMT(path.lstat().st_mode)
        if found == kind:
            return
        if found == stat.S_IFLNK:
            raise OutputError(f"{path} is a link to {path.readlink()}: {of_links}")
    except FileNotFoundError:
        return
    except OSError as error:
        raise OutputError(f"{path}: cannot be read: {disk.describe(error)}") from error
    raise OutputError(
        f"{path} is {_KINDS.get(found, 'no file')}, where a run has {_KINDS[kind]}: move it away, "
        "or give another run_dir"
    )
