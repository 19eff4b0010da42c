"""Files of symbols, of which stretches are read as they were written, or not at all.

Nothing is mapped into memory: a program that cut such a file short would end this one (SIGBUS).
"""

import contextlib
import errno
import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seqkit.data.files import stamp
from seqkit.foundation import disk
from seqkit.foundation.errors import DataError
from seqkit.symbols import symbol_dtype

BLOCK = 1 << 22
"""Bytes of a file that are checked at a time; the last block may be shorter."""
Stretch = tuple[int, memoryview]
"""The byte of a file at which to begin, and what to fill with the bytes from there on."""
_FEW_OPEN = 128  # files, where the system does not say how many may be open


@dataclass(frozen=True)
class StoredFile:
    """A file of symbols: how many it has, and the sha256 of each block as it was written."""

    path: Path
    symbols: int
    blocks: Sequence[str]
    block_bytes: int = BLOCK


def digests(path: Path, block_bytes: int = BLOCK) -> tuple[str, list[str]]:
    """The sha256 of a file, and of each of its blocks.

    Raises:
        DataError: it cannot be read.
    """
    whole, blocks = hashlib.sha256(), []
    try:
        with path.open("rb") as stream:
            while block := stream.read(block_bytes):
                whole.update(block)
                blocks.append(hashlib.sha256(block).hexdigest())
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {disk.describe(error)}") from error
    return whole.hexdigest(), blocks


class StoredFiles:
    """Files that stay open, as many as half of what the system lets the process open."""

    def __init__(self, files: Sequence[StoredFile], size: int, remedy: str) -> None:
        """Of symbols below `size`; `remedy` says what to do about damage.

        Raises:
            DataError: a file is missing, or longer or shorter than it was.
        """
        self._files, self._size, self._remedy = files, size, remedy
        self._dtype = symbol_dtype(size).newbyteorder("<")
        self._opened = functools.lru_cache(_most_open())(lambda number: _Handle(files[number].path))
        for number, file in enumerate(files):
            try:
                there = file.path.stat().st_size
            except OSError as error:
                raise self._unreadable(number, error) from error
            self._check_size(number, there)

    def read(self, number: int, stretches: Sequence[Stretch]) -> None:
        """Fill stretches, none of them empty, with what was written into a file.

        Raises:
            DataError: it is not as it was written, or cannot be read.
        """
        handle, size = self._open(number), self._files[number].block_bytes
        for begin, content in stretches:
            last = (begin + len(content) - 1) // size
            for block in range(begin // size, last + 1):
                if block not in handle.checked:
                    self._check_block(number, handle, block)
            self._fill(number, handle, begin, content)

    def check(self, count: Callable[[int], None]) -> None:
        """Compare all files with their sha256 now; `count` hears how many bytes were read.

        Raises:
            DataError: they are not as they were written, or cannot be read.
        """
        for number, file in enumerate(self._files):
            handle = self._open(number)
            for block in range(len(file.blocks)):
                count(self._check_block(number, handle, block))

    def _open(self, number: int) -> "_Handle":
        """An open file, of which no block counts as checked if it changed since."""
        try:
            try:
                handle = self._opened(number)
            except OSError as error:
                if error.errno != errno.EMFILE:
                    raise
                self._opened.cache_clear()  # others have more than half of them
                handle = self._opened(number)
        except OSError as error:
            raise self._unreadable(number, error) from error
        self._check_size(number, handle.look())
        return handle

    def _check_block(self, number: int, handle: "_Handle", block: int) -> int:
        """Compare a block with its sha256: how many bytes it has. Raises DataError."""
        file = self._files[number]
        begin, end = block * file.block_bytes, file.symbols * self._dtype.itemsize
        content = bytearray(min(file.block_bytes, end - begin))
        self._fill(number, handle, begin, memoryview(content))
        if hashlib.sha256(content).hexdigest() != file.blocks[block]:
            raise DataError(
                f"{file.path}: altered: its bytes from {begin} on do not have the sha256 that they "
                f"were written with: {self._remedy}"
            )
        if np.frombuffer(content, self._dtype).max() >= self._size:
            raise DataError(
                f"{file.path}: it has a symbol outside the codec's {self._size}: {self._remedy}"
            )
        handle.checked.add(block)
        return len(content)

    def _fill(self, number: int, handle: "_Handle", begin: int, content: memoryview) -> None:
        """Read the bytes of a file from `begin` on. Raises DataError."""
        try:
            while content:  # the system gives 2 GB at most
                size = handle.read_into(content, begin)
                if not size:
                    self._check_size(number, handle.look())  # as of one that was cut before
                    raise DataError(f"{self._files[number].path}: cut short: {self._remedy}")
                content, begin = content[size:], begin + size
        except OSError as error:
            raise self._unreadable(number, error) from error

    def _check_size(self, number: int, there: int) -> None:
        file = self._files[number]
        expected = file.symbols * self._dtype.itemsize
        if there != expected:
            raise DataError(
                f"{file.path}: {there:,} bytes in place of the {expected:,} that were written: "
                f"{self._remedy}"
            )

    def _unreadable(self, number: int, error: OSError) -> DataError:
        remedy = self._remedy
        if error.errno in (errno.EMFILE, errno.ENFILE):
            remedy = "allow more open files (ulimit -n), or end other programs, and start again"
        said = f"{self._files[number].path}: cannot be read: {disk.describe(error)}"
        return DataError(f"{said}: {remedy}")


def _most_open() -> int:
    """Half of the files that the process may have open: the rest is for everything else."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # POSIX only
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limit != resource.RLIM_INFINITY:
            return max(1, limit // 2)
    return _FEW_OPEN


class _Handle:
    """A file that stays open as long as somebody reads it, and which of its blocks are checked."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self._number = os.open(path, os.O_RDONLY)
        self._stamp: list[int] = []  # another for a file that changed; the size first
        self.checked: set[int] = set()

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if hasattr(self, "_number"):
            close(self._number)

    def read_into(self, content: memoryview, begin: int) -> int:
        """Read the bytes from `begin` on: how many. Raises OSError."""
        return os.preadv(self._number, [content], begin)

    def look(self) -> int:
        """Its size in bytes; where it is new, or changed since the last look, nothing is checked.

        Raises OSError.
        """
        before, self._stamp = self._stamp, stamp(os.fstat(self._number))
        if before != self._stamp:
            self.checked.clear()
        return self._stamp[0]
