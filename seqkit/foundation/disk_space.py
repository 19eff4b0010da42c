"""Room on a disk: what does not fit is refused before it is written, or told once it is full."""

import contextlib
import errno
import shutil
from collections.abc import Iterator
from pathlib import Path

from seqkit.foundation.errors import OutputError


def require(path: Path, size: int) -> None:
    """Refuse a file, or what is in a folder, of so many bytes that its disk has no room for.

    Raises OutputError.
    """
    try:
        places = (path.absolute(), *path.absolute().parents)
        folder = next(place for place in places if place.is_dir())
        total, _, free = shutil.disk_usage(folder)
    except OSError:
        return  # whoever writes there is told why
    if total and free < size:  # some file systems do not tell
        raise OutputError(
            f"cannot write {path}: it takes {_shown(size)}, and {_shown(free)} are free on its disk"
        )


@contextlib.contextmanager
def told(most: int | None, what: str = "it takes") -> Iterator[None]:
    """Add to the error of a disk that gets full how many bytes are needed at most.

    `what` begins that phrase; with None, where it is not known, nothing is added. Raises
    OutputError.
    """
    try:
        yield
    except OutputError as error:
        full = getattr(error.__cause__, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
        if not full or most is None:
            raise
        raise OutputError(f"{error}: {what} up to {_shown(most)}") from error.__cause__


def _shown(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 1e6 else f"{size / 1e3:.1f} kB"
