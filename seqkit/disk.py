"""Where things are, and how a file is written so that it is whole or absent."""

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from seqkit.errors import OutputError


def cache_dir() -> Path:
    """The folder for downloads and encoded data: SEQKIT_CACHE_DIR, or the user's cache."""
    if chosen := os.environ.get("SEQKIT_CACHE_DIR"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "seqkit"


def config_dir(name: str) -> Path:
    """The folder `conf` or `recipes`: inside the installed package, else beside it (a checkout)."""
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def describe(error: OSError) -> str:
    """The operating system's reason in a few words, without the path that it repeats."""
    return (error.strerror or str(error)).lower()


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that takes its place, synced, when the block ends well.

    Readers see the old file or the whole new one, whatever happens in between.

    Raises:
        OutputError: the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    except OSError as error:
        raise OutputError(_cannot_write(path, error)) from error
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        temporary.chmod(0o666 & ~_umask())
        temporary.replace(path)
        _sync_folder(path.parent)
    except OSError as error:
        raise OutputError(_cannot_write(path, error)) from error
    finally:
        temporary.unlink(missing_ok=True)


def _cannot_write(path: Path, error: OSError) -> str:
    hint = ""
    if cache_dir() in path.parents:
        hint = ": name another folder for the cache with SEQKIT_CACHE_DIR"
    return f"cannot write {path}: {describe(error)}{hint}"


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, where folders can be opened (POSIX)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
