"""Where things are, and the one door to the disk: everything that seqkit writes goes through here.

A file is whole or absent (`atomic_write`), grows while it can already be read (`create`, `append`),
or is moved and removed by name. Every failure is an OutputError that names the file.
"""

import contextlib
import os
import secrets
import shutil
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


def open_file(path: Path, mode: str) -> IO[bytes]:
    """Open a file for writing: every stream below comes from here, so tests can let it fail."""
    return path.open(mode)


@contextlib.contextmanager
def atomic_write(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file beside `path` that takes its place, synced, when the block ends well.

    Readers see the old file or the whole new one, whatever happens in between.

    Raises:
        OutputError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name[:100]}.{secrets.token_hex(4)}.tmp")
    with _failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        stream = open_file(temporary, "xb")
    try:
        with _failures(path):
            with stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            temporary.replace(path)
            _sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def create(path: Path, overwrite: bool = False) -> IO[bytes]:
    """A new file that can be read while it grows.

    Raises:
        OutputError: it cannot be written, or is there and `overwrite` is false.
    """
    with _failures(path):
        try:
            return open_file(path, "wb" if overwrite else "xb")
        except FileExistsError as error:
            raise OutputError(f"{path} exists: give another out, or overwrite=true") from error


def append(path: Path, text: str) -> None:
    """Add a line or more to a file. Raises OutputError."""
    with _failures(path), open_file(path, "ab") as stream:
        stream.write(text.encode("utf-8", "surrogateescape"))  # file names may be no UTF-8


def make_folder(path: Path, new: bool = False) -> None:
    """Make a folder and those above it.

    Raises:
        FileExistsError: with `new`, if it is there.
        OutputError: it cannot be made.
    """
    try:
        with _failures(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(exist_ok=not new)
    except OutputError as error:
        if new and isinstance(error.__cause__, FileExistsError):
            raise error.__cause__ from None
        raise


def rename(source: Path, target: Path) -> None:
    """Give a file or folder another name, in the place of what has it. Raises OutputError."""
    with _failures(target):
        source.replace(target)


def remove(path: Path) -> None:
    """Remove a file, if it is there. Raises OutputError."""
    with _failures(path):
        path.unlink(missing_ok=True)


def remove_folder(path: Path) -> None:
    """Remove a folder with all that is in it, as far as that goes."""
    shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _failures(path: Path) -> Iterator[None]:
    """Say of an operating system's error what could not be written, and what to do."""
    try:
        yield
    except OSError as error:
        hint = ""
        if cache_dir() in path.parents:
            hint = ": name another folder for the cache with SEQKIT_CACHE_DIR"
        raise OutputError(f"cannot write {path}: {describe(error)}{hint}") from error


def _sync_folder(folder: Path) -> None:
    """Make a rename durable, where folders can be opened (POSIX)."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
