"""Where the documents in shards start: a file of 64-bit integers beside them.

There may be a document for every row of a data set, millions of them.
"""

import hashlib
from pathlib import Path

import numpy as np

from seqkit import disk
from seqkit.data.shards.index import REMEDY, Index
from seqkit.errors import DataError
from seqkit.symbols import Integers

FILE = "starts.int64"
_DTYPE = "<i8"


def save(folder: Path, starts: Integers) -> str:
    """Write the starts (D,) of all documents. Returns the file's sha256; raises OutputError."""
    content = starts.astype(_DTYPE).tobytes()
    with disk.atomic_write(folder / FILE, size=len(content)) as stream:
        stream.write(content)
    return hashlib.sha256(content).hexdigest()


def read(folder: Path, index: Index) -> Integers:
    """The starts (D,) of all documents, mapped into memory.

    Raises:
        DataError: they cannot be read, or are not those that the index was written with.
    """
    path = folder / FILE
    try:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        if digest != index.starts_sha256:
            raise DataError(f"{path}: altered: it is not as prepare wrote it: {REMEDY}")
        starts = np.asarray(np.memmap(path, _DTYPE, "r"))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {disk.describe(error)}") from error
    except ValueError as error:  # empty
        raise DataError(f"{path}: damaged ({error}): {REMEDY}") from error
    rising = not starts[0] and starts[-1] < index.symbols and (starts[1:] > starts[:-1]).all()
    if not rising or len(starts) != index.document_count:
        raise DataError(f"{path}: damaged: starts of documents that do not rise: {REMEDY}")
    return starts
