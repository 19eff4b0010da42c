"""The files of some data: those that are there twice, and those with next to nothing in them."""

import contextlib
import hashlib
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seqkit.config import DataConfig
from seqkit.data.codecs import Codec
from seqkit.data.files import BadFileError, blocks
from seqkit.data.load import search_of

_NEARLY_EMPTY = 64  # bytes


@dataclass(frozen=True)
class FileFacts:
    """Files by what is wrong with them.

    files: those that are read.
    duplicates: a file, and the earlier one that has the same content.
    nearly_empty: files of less than 64 bytes.
    """

    files: Sequence[Path]
    duplicates: Sequence[tuple[Path, Path]]
    nearly_empty: Sequence[Path]


def found(data: DataConfig, codec: Codec) -> tuple[list[Path], int]:
    """The files of `data.path`, as a corpus of this codec reads them, in the order of their names.

    Returns the number of those that are left out for what they are, too.

    Raises:
        DataError: a path cannot be read.
    """
    search = search_of(data, codec.kind)
    files = [*search.named([*map(Path, data.path)]).values()]
    return files, search.left_out.total()


def facts(files: Sequence[Path], watch: Callable[[int], None]) -> FileFacts:
    """Look for duplicates and small files; `watch` is told how many files were looked at."""
    by_size = defaultdict[int, list[Path]](list)
    for file in files:
        with contextlib.suppress(OSError):
            by_size[file.stat().st_size].append(file)
    duplicates, done = [], 0
    for alike in by_size.values():
        first: dict[str, Path] = {}
        for file in alike if len(alike) > 1 else ():
            with contextlib.suppress(BadFileError):
                digest = hashlib.sha256()
                for block in blocks(file):
                    digest.update(block)
                original = first.setdefault(digest.hexdigest(), file)
                if original is not file:
                    duplicates.append((file, original))
        done += len(alike)
        watch(done)
    small = [file for size, alike in by_size.items() if size < _NEARLY_EMPTY for file in alike]
    return FileFacts(files, duplicates, small)
