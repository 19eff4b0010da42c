"""Where things are, and the one door to the disk: everything that seqkit writes goes through here.

A file is whole or absent (`atomic_write`), grows while it can already be read (`create`, `append`),
or is moved and removed by name. Every failure is an OutputError that names the file.
"""

import contextlib
import functools
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from seqkit.foundation.errors import OutputError

_LONGEST = 100  # bytes of the file's own name in a temporary one; a name has at most 255
_MOST = 10_000  # files called NEW
_LEASE = 24 * 3600.0  # seconds


def cache_dir() -> Path:
    """The folder for what can be fetched or made again: SEQKIT_CACHE_DIR, or the user's cache."""
    if chosen := os.environ.get("SEQKIT_CACHE_DIR"):
        return Path(os.path.expanduser(chosen))  # noqa: PTH111 - Path's fails without a home
    home = os.path.expanduser("~")  # noqa: PTH111
    nowhere = Path(os.devnull)  # a file: who writes there is told to name another folder
    base = os.environ.get("XDG_CACHE_HOME") or (nowhere if home == "~" else Path(home) / ".cache")
    return Path(base) / "seqkit"


def config_dir(name: str) -> Path:
    """The folder `conf` or `recipes`: inside the installed package, else beside it (a checkout)."""
    package = Path(__file__).resolve().parents[1]
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def unused(suffix: str, folder: Path = Path()) -> str:
    """A path that no file has, for one that the user is to write: NEW, or NEW2 and so on."""
    paths = (folder / f"NEW{number}{suffix}" for number in ["", *range(2, _MOST)])
    return str(next(path for path in paths if not os.path.lexists(path)))


def describe(error: OSError) -> str:
    """The operating system's reason in a few words, without the path that it repeats."""
    return (error.strerror or str(error)).lower()


def open_file(path: Path, mode: str) -> IO[bytes]:
    """Open a file for writing: every stream below comes from here, so tests can let it fail.

    What is added to ("ab") is the file itself, never what a link leads to.
    """
    itself = os.O_NOFOLLOW if mode == "ab" else 0
    return open(path, mode, opener=lambda name, flags: os.open(name, flags | itself, 0o666))


class OutputFile(contextlib.AbstractContextManager["OutputFile"]):
    """A file that is being written; whatever fails is an OutputError that names it.

    `seek`, `tell`, `truncate`, `flush`, `fileno` and `close` are those of its stream.
    """

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        """`path` is the name that people know, which may not be the stream's own."""
        self._stream = stream
        self._path = path

    def __getattr__(self, name: str) -> Any:
        return _failures(self._path)(getattr(self._stream, name))

    def write(self, content: bytes | memoryview) -> int:
        """Append bytes: how many."""
        with _failures(self._path):
            return self._stream.write(content)

    def sync(self) -> None:
        """Wait until everything is on the disk."""
        self.flush()
        with _failures(self._path):
            os.fsync(self.fileno())

    def __exit__(self, *_: object) -> None:
        self.close()


@contextlib.contextmanager
def atomic_write(path: Path, overwrite: bool = True) -> Iterator[OutputFile]:
    """Open a temporary file beside `path` that takes its place, synced, when the block ends well.

    Readers see the old file or the whole new one, whatever happens in between. Folders above it are
    made.

    Raises OutputError: it cannot be written, or is there at the end and `overwrite` is false.
    """
    with scratch(path) as (stream, temporary):
        yield stream
        stream.sync()
        with _failures(path):
            if overwrite:
                temporary.replace(path)
            else:
                _link(temporary, path)
            folder = os.open(path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)  # makes the new name durable
            finally:
                os.close(folder)


def write(path: Path, content: bytes | memoryview, overwrite: bool = True) -> None:
    """Write a file in one piece. Raises as `atomic_write`."""
    with atomic_write(path, overwrite) as stream:
        stream.write(content)


def _link(temporary: Path, path: Path) -> None:
    """Give a file a second name that nothing has, though somebody else may write it just now."""
    try:
        os.link(temporary, path)
    except FileExistsError as error:
        raise exists_error(path) from error
    except OSError:  # a file system without links
        if path.exists():
            raise exists_error(path) from None
        temporary.replace(path)


@contextlib.contextmanager
def scratch(path: Path) -> Iterator[tuple[OutputFile, Path]]:
    """A new file beside `path`, and its name, for as long as the block lasts.

    It is removed when the block ends; after a kill, by whoever writes there a day later. Raises
    OutputError.
    """
    with _failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    clear_halves(path.parent.absolute())
    with contextlib.ExitStack() as stack:
        temporary = half_of(path)
        stack.callback(discard, temporary)  # also if a signal comes while it is made
        with _failures(path):
            stream = stack.enter_context(OutputFile(open_file(temporary, "xb"), path))
        yield stream, temporary


def half_of(path: Path) -> Path:
    """A new name beside `path`, for what is to take its place."""
    name = os.fsencode(path.name)[:_LONGEST].decode("utf-8", "ignore")
    return path.with_name(f".{name}.{secrets.token_hex(4)}.half.tmp")


@functools.cache  # once a process: of its own files it leaves none
def clear_halves(folder: Path, age: float = _LEASE) -> None:
    """Remove from a folder, an absolute path, what killed processes were writing, if it can.

    What somebody wrote to in the last `age` seconds may still be written.
    """
    for path in folder.glob(".*.half.tmp"):
        with contextlib.suppress(OSError):
            if time.time() < path.stat().st_mtime + age:
                continue
        discard(path)


def create(path: Path, overwrite: bool = False) -> OutputFile:
    """A new file that can be read while it grows; a file that was there stays under other names.

    Raises OutputError where it cannot be written, or is there and `overwrite` is false.
    """
    with _failures(path):
        if overwrite:
            path.unlink(missing_ok=True)
        with contextlib.suppress(FileExistsError):
            return OutputFile(open_file(path, "wb" if overwrite else "xb"), path)
    raise exists_error(path)


def reopen(path: Path) -> OutputFile:
    """A file to be added to, made if it is not there. Raises OutputError."""
    with _failures(path):
        return OutputFile(open_file(path, "ab"), path)


def append(path: Path, text: str) -> None:
    """Add a line or more to a file. Raises OutputError."""
    with _failures(path), open_file(path, "ab") as stream:
        stream.write(text.encode("utf-8", "surrogateescape"))  # file names may be no UTF-8


def make_folder(path: Path) -> bool:
    """Make a folder and those above it: whether it is new. Raises OutputError."""
    with _failures(path):
        try:
            path.mkdir(parents=True)
        except FileExistsError:
            if not path.is_dir():
                raise
            return False
        return True


def rename(source: Path, target: Path) -> None:
    """Give a file or folder another name, in the place of what has it. Raises OutputError."""
    with _failures(target):
        source.replace(target)


def remove(path: Path) -> None:
    """Remove a file, if it is there. Raises OutputError."""
    with _failures(path):
        path.unlink(missing_ok=True)


def discard(path: Path) -> None:
    """Remove a file, or a folder with all that is in it, as far as that goes."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


@contextlib.contextmanager
def _failures(path: Path) -> Iterator[None]:
    """Say of an operating system's error what could not be written, and what to do."""
    try:
        yield
    except OSError as error:
        in_cache = cache_dir() in path.parents
        hint = ": name another folder for the cache with SEQKIT_CACHE_DIR" if in_cache else ""
        raise OutputError(f"cannot write {path}: {describe(error)}{hint}") from error


def exists_error(path: Path) -> OutputError:
    """What is raised for a file that must not be replaced unasked."""
    return OutputError(f"{path} exists: give another out, or overwrite=true")
