"""Standard input is read once, to its end, into a file of the cache."""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Sequence

from seqkit.foundation import disk
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.errors import ConfigError, DataError

STDIN = {"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}
"""Its names among paths."""
_BLOCK = 1 << 20  # bytes


def on_disk(paths: Sequence[str], notice: Notice, progress: Progress = unseen) -> list[str]:
    """The paths, with a file of the cache in the place of standard input.

    Raises:
        ConfigError: a path is a URL.
        DataError: standard input is empty or closed.
        OutputError: the cache cannot be written.
    """
    for path in paths:
        if "://" in path and not os.path.lexists(path):
            raise ConfigError(f"{path}: download it, or write it to standard input, data.path=-")
    kept = keep("stdin", blocks(), notice, progress) if STDIN & {*paths} else ""
    return [kept if path in STDIN else path for path in paths]


def blocks() -> Iterator[bytes]:
    """The bytes of standard input as they come. Raises DataError where it is empty or closed."""
    try:
        with open(0, "rb", buffering=0, closefd=False) as stream:
            mode = os.fstat(0).st_mode
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):  # /dev/zero has no end
                raise DataError("stdin is a terminal or a device: write to it through a pipe")
            block = stream.read(_BLOCK)
            if not block:
                raise DataError("stdin: empty: nothing was written to it")
            while block:
                yield block
                block = stream.read(_BLOCK)
    except OSError as error:
        raise DataError(f"stdin: cannot be read: {disk.describe(error)}") from error


def keep(name: str, blocks: Iterable[bytes], notice: Notice, progress: Progress = unseen) -> str:
    """Write what can be read once to a file of the cache, called so: its path. Raises OutputError.

    `notice` is told.
    """
    streams = (disk.cache_dir() / "streams").absolute()
    notice(f"reading {name}")
    digest, size = hashlib.sha256(), 0
    with disk.scratch(streams / name) as (file, temporary):
        with progress(f"reading {name}", unit="B") as bar:
            for block in blocks:
                size += file.write(block)
                digest.update(block)
                bar.add(len(block))
        file.sync()
        kept = streams / digest.hexdigest() / name
        if not kept.exists():  # read again, it stays the file that was encoded
            disk.make_folder(kept.parent)
            disk.rename(temporary, kept)
    notice(f"{name}: {size:,} bytes read, and kept as {kept}")
    return str(kept)
