"""Symbols in files as one row, of which a part is read when it is asked for.

They are read as they were written, or not at all. Nothing is mapped into memory: a program that cut
such a file short would end this one (SIGBUS).
"""

import errno
import functools
import hashlib
import itertools
import os
import resource
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seqkit.data.files import stamp
from seqkit.foundation import disk
from seqkit.foundation.errors import DataError
from seqkit.symbols import Integers, Symbols, symbol_dtype

BLOCK = 1 << 22
"""Bytes of a file that are checked at a time; the last block may be shorter."""
Stretch = tuple[int, memoryview]
"""The byte of a file at which to begin, and what to fill with the bytes from there on."""
_NEAR = 1 << 12  # symbols: places no further apart are read at once


@dataclass(frozen=True)
class StoredFile:
    """A file of symbols: how many it has, and the sha256 of each block as it was written."""

    path: Path
    symbols: int
    blocks: Sequence[str]
    block_bytes: int = BLOCK


def digests(path: Path, block_bytes: int = BLOCK) -> tuple[str, list[str]]:
    """The sha256 of a file that was just written, and of each of its blocks."""
    whole, blocks = hashlib.sha256(), []
    with path.open("rb") as stream:
        while block := stream.read(block_bytes):
            whole.update(block)
            blocks.append(hashlib.sha256(block).hexdigest())
    return whole.hexdigest(), blocks


class StoredSymbols:
    """Symbols (N,) in files. A slice, or an array of places, gives those symbols as an array.

    A block of a file is compared with its sha256 when something in it is asked for first, and
    again when the file has changed since. Neither the start nor the memory grow with the data.
    """

    def __init__(self, row: "_Row", begin: int, end: int) -> None:
        """The symbols from `begin` to before `end` of all."""
        self._row = row
        self._begin = begin
        self.size = end - begin
        self.dtype: np.dtype[Any] = row.dtype
        self.nbytes: int = self.size * row.dtype.itemsize

    @classmethod
    def of(cls, files: Sequence[StoredFile], size: int, remedy: str) -> "StoredSymbols":
        """All symbols of the files, each below `size`; `remedy` says what to do about damage.

        Raises:
            DataError: a file is missing, or longer or shorter than it was.
        """
        return cls(_Row(files, size, remedy), 0, sum(file.symbols for file in files))

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, places: slice | npt.NDArray[np.int64]) -> Symbols:
        """Symbols in memory of their own: of a slice (n,), of places as many in the same shape.

        Raises:
            DataError: they are not as they were written, or cannot be read.
            IndexError: a place is not among them, or the index is of another kind.
        """
        if isinstance(places, slice) and places.step in (None, 1):
            begin, end, _ = places.indices(self.size)
            return self._row.read(self._begin + np.array([begin]), self._begin + np.array([end]))
        if not isinstance(places, np.ndarray) or places.dtype != np.int64:
            raise IndexError("symbols in files are read by a slice or an array of int64")
        if places.size and not 0 <= places.min() <= places.max() < self.size:
            raise IndexError(f"a place is not among the {self.size} symbols")
        return self._row.gather(places + self._begin)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self[:].astype(self.dtype if dtype is None else dtype, copy=False)

    def cut(self, begin: int, end: int) -> "StoredSymbols":
        """Those from `begin` to before `end`, of which nothing is read yet."""
        return StoredSymbols(self._row, self._begin + begin, self._begin + end)

    def stretches(self, begins: Integers, ends: Integers) -> Symbols:
        """Some stretches, one after the other (n,), none of which goes beyond the symbols.

        Raises:
            DataError: they are not as they were written, or cannot be read.
        """
        joined = np.flatnonzero(begins[1:] == ends[:-1])  # which are read at once
        begins, ends = np.delete(begins, joined + 1), np.delete(ends, joined)
        return self._row.read(self._begin + begins, self._begin + ends)

    def check(self, count: Callable[[int], None]) -> None:
        """Compare all files with their sha256 now; `count` hears how many bytes were read.

        Raises:
            DataError: they are not as they were written, or cannot be read.
        """
        self._row.check(count)


class _Row:
    """The symbols of all files; as many stay open as half of what the process may have open."""

    def __init__(self, files: Sequence[StoredFile], size: int, remedy: str) -> None:
        """As for `StoredSymbols.of`. Raises DataError."""
        self._files, self._size, self._remedy = files, size, remedy
        self.dtype = symbol_dtype(size).newbyteorder("<")
        self._edges = [0, *itertools.accumulate(file.symbols for file in files)]
        self._ends = np.array(self._edges[1:], np.int64)
        self._opened = functools.lru_cache(_most_open())(lambda number: _Handle(files[number].path))
        for number, file in enumerate(files):
            try:
                there = file.path.stat().st_size
            except OSError as error:
                raise self._unreadable(number, error) from error
            self._check_size(number, there)

    def gather(self, places: npt.NDArray[np.int64]) -> Symbols:
        """The symbols at some places (T, B) or (T,), in an array of their shape.

        Places that follow one another down a column are read at once.
        """
        if not places.size:
            return np.zeros(places.shape, self.dtype)
        flat = places.T.ravel()
        gaps = np.diff(flat)
        edges = np.flatnonzero((gaps < 0) | (gaps > _NEAR)) + 1
        begins = flat[np.concatenate([[0], edges])]
        ends = flat[np.concatenate([edges, [len(flat)]]) - 1] + 1
        symbols: Symbols = self.read(begins, ends)
        sizes = ends - begins
        origins = np.cumsum(sizes) - sizes - begins  # where in `symbols` a piece lies
        runs = np.diff(edges, prepend=0, append=len(flat))
        symbols = symbols[flat + np.repeat(origins, runs)]
        return symbols.reshape(places.T.shape).T

    def read(self, begins: Integers, ends: Integers) -> Symbols:
        """The symbols of some stretches of the row, one after the other. Raises DataError."""
        size = self.dtype.itemsize
        symbols = np.empty((ends - begins).clip(0).sum(), self.dtype)
        content = symbols.view(np.uint8).data
        wanted: dict[int, list[Stretch]] = {}
        done = 0
        for number, begin, end in self._pieces(begins, ends):
            after = done + (end - begin) * size
            wanted.setdefault(number, []).append((begin * size, content[done:after]))
            done = after
        for number, stretches in wanted.items():  # one file at a time: not all may be open
            self._read_file(number, stretches)
        return symbols

    def _pieces(self, begins: Integers, ends: Integers) -> Iterator[tuple[int, int, int]]:
        """What some stretches have of each file: its number, the symbols from and to before."""
        first = np.searchsorted(self._ends, begins, side="right").tolist()
        for number, begin, end in zip(first, begins.tolist(), ends.tolist(), strict=True):
            while begin < end:
                origin, most = self._edges[number : number + 2]
                yield number, begin - origin, min(end, most) - origin
                begin, number = most, number + 1  # noqa: PLW2901, what is left of the stretch

    def _read_file(self, number: int, stretches: Sequence[Stretch]) -> None:
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
        """See StoredSymbols."""
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
        begin, end = block * file.block_bytes, file.symbols * self.dtype.itemsize
        content = bytearray(min(file.block_bytes, end - begin))
        self._fill(number, handle, begin, memoryview(content))
        if hashlib.sha256(content).hexdigest() != file.blocks[block]:
            raise DataError(
                f"{file.path}: altered: its bytes from {begin} on do not have the sha256 that they "
                f"were written with: {self._remedy}"
            )
        if np.frombuffer(content, self.dtype).max() >= self._size:
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
        expected = file.symbols * self.dtype.itemsize
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
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 128 if limit == resource.RLIM_INFINITY else max(1, limit // 2)


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
