"""Where the documents in shards start: a file of 64-bit integers beside them.

There may be a document for every row of a data set, more than memory holds. So while shards are
prepared, each has a file of its own beside it, with the sizes of its documents.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from seqkit.data.shards.index import REMEDY, Index
from seqkit.foundation import disk
from seqkit.foundation.errors import DataError
from seqkit.symbols import Integers

_DTYPE = "<i8"


def sizes_file(shard: Path) -> Path:
    """Where the sizes of a shard's documents are while shards are prepared."""
    return shard.with_suffix(".sizes")


def save_sizes(shard: Path, sizes: Sequence[int]) -> None:
    """Write how many symbols of each document a shard has. Raises OutputError."""
    content = np.array(sizes, _DTYPE).tobytes()
    with disk.atomic_write(sizes_file(shard), size=len(content)) as stream:
        stream.write(content)


def read_sizes(shard: Path) -> Integers:
    """What `save_sizes` wrote (n,). Raises OSError."""
    return np.frombuffer(sizes_file(shard).read_bytes(), _DTYPE).astype(np.int64)


class Writer:
    """Writes the starts of all documents, some at a time."""

    def __init__(self, write: Callable[[bytes], object]) -> None:
        self._write = write
        self._digest = hashlib.sha256()

    def add(self, starts: Integers) -> None:
        """The next starts (n,)."""
        content = starts.astype(_DTYPE).tobytes()
        self._digest.update(content)
        self._write(content)

    @property
    def sha256(self) -> str:
        """Of the file as far as it is written."""
        return self._digest.hexdigest()


@contextlib.contextmanager
def writer(path: Path, most: int) -> Iterator[Writer]:
    """Write the starts of at most so many documents; the file is whole when the block ends well.

    Raises OutputError.
    """
    with disk.atomic_write(path, size=most * np.dtype(_DTYPE).itemsize) as stream:
        yield Writer(stream.write)


def read(folder: Path, index: Index) -> Integers:
    """The starts (D,) of all documents.

    Raises:
        DataError: they cannot be read, or are not those that the index was written with.
    """
    path = folder / index.starts
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {disk.describe(error)}") from error
    if hashlib.sha256(content).hexdigest() != index.starts_sha256:
        raise DataError(f"{path}: altered: it is not as prepare wrote it: {REMEDY}")
    if not content or len(content) % np.dtype(_DTYPE).itemsize:
        raise DataError(f"{path}: damaged: {REMEDY}")
    starts = np.frombuffer(content, _DTYPE)
    rising = not starts[0] and starts[-1] < index.symbols and (starts[1:] > starts[:-1]).all()
    if not rising or len(starts) != index.document_count:
        raise DataError(f"{path}: damaged: starts of documents that do not rise: {REMEDY}")
    return starts
