"""Symbols in files as one row, of which a part is read when it is asked for.

Nothing is mapped into memory: a program that cut such a file short would end this one (SIGBUS).
"""

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seqkit import disk
from seqkit.errors import DataError
from seqkit.symbols import Integers, Symbols, symbol_dtype

BLOCK = 1 << 22
"""Bytes of a file that are checked at a time; the last block may be shorter."""
_MOST_OPEN = 256  # files; a process may often have no more than 1024
_NEAR = 1 << 12  # symbols: places no further apart are read at once


@dataclass(frozen=True)
class StoredFile:
    """A file of symbols: how many it has, and the sha256 of each block as it was written."""

    path: Path
    symbols: int
    blocks: Sequence[str]


def digests(path: Path, count: Callable[[int], None] = lambda size: None) -> list[str]:
    """The sha256 of each block of a file; `count` hears how many bytes were read.

    Raises:
        DataError: it cannot be read.
    """
    found = []
    try:
        with path.open("rb") as stream:
            while block := stream.read(BLOCK):
                found.append(hashlib.sha256(block).hexdigest())
                count(len(block))
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {disk.describe(error)}") from error
    return found


class StoredSymbols:
    """Symbols (N,) in files. A slice, or an array of places, gives those symbols as an array.

    A block of a file is compared with its sha256 when something in it is asked for first, and
    again when the file has changed since. Neither the start nor the memory grow with the data.
    """

    ndim = 1

    def __init__(self, files: "_Files", begin: int, end: int) -> None:
        """The symbols from `begin` to before `end` of all."""
        self._files = files
        self._begin = begin
        self.size = end - begin
        self.dtype: np.dtype[Any] = files.dtype
        self.itemsize: int = files.dtype.itemsize
        self.nbytes: int = self.size * self.itemsize
        self.in_shards = files.in_shards
        """Whether they are in shards, of which nothing was read at the start."""

    @classmethod
    def of(
        cls,
        files: Sequence[StoredFile],
        size: int,
        remedy: str,
        in_shards: bool = False,
    ) -> "StoredSymbols":
        """All symbols of the files, each below `size`; `remedy` says what to do about damage.

        Raises:
            DataError: a file is missing, or longer or shorter than it was.
        """
        stored = _Files(files, size, remedy, in_shards)
        return cls(stored, 0, sum(file.symbols for file in files))

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, places: slice | npt.NDArray[np.int64]) -> Symbols:
        """Raises DataError if they are not as they were written, or cannot be read."""
        if not isinstance(places, slice):
            return self._files.gather(places + self._begin)
        begin, end, step = places.indices(self.size)
        assert step == 1
        return self._files.stretch(self._begin + begin, self._begin + max(begin, end))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.asarray(self[:], dtype)

    def cut(self, begin: int, end: int) -> "StoredSymbols":
        """Those from `begin` to before `end`, of which nothing is read yet."""
        return StoredSymbols(self._files, self._begin + begin, self._begin + end)

    def check(self, count: Callable[[int], None]) -> None:
        """Compare all files with their sha256 now; `count` hears how many bytes were read.

        Raises:
            DataError: they are not as they were written, or cannot be read.
        """
        self._files.check(count)


class _Files:
    """The files, their symbols one after the other."""

    def __init__(
        self, files: Sequence[StoredFile], size: int, remedy: str, in_shards: bool
    ) -> None:
        self.dtype = symbol_dtype(size).newbyteorder("<")
        self.in_shards = in_shards
        self._files, self._size, self._remedy = files, size, remedy
        self._edges = [0, *itertools.accumulate(file.symbols for file in files)]
        self._ends = np.array(self._edges[1:], np.int64)
        self._handles: dict[int, _Handle] = {}
        self._known: dict[int, _Known] = {}
        for number, file in enumerate(files):
            try:
                there = file.path.stat().st_size
            except OSError as error:
                raise self._unreadable(number, error) from error
            self._check_size(number, there)

    def stretch(self, begin: int, end: int) -> Symbols:
        """The symbols from `begin` to before `end`."""
        return self._read([*self._pieces(np.array([begin]), np.array([end]))])

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
        found: Symbols = self._read([*self._pieces(begins, ends)])
        sizes = ends - begins
        origins = np.cumsum(sizes) - sizes - begins  # where in `found` a piece lies
        runs = np.diff(edges, prepend=0, append=len(flat))
        found = found[flat + np.repeat(origins, runs)]
        return found.reshape(places.T.shape).T

    def check(self, count: Callable[[int], None]) -> None:
        for number, file in enumerate(self._files):
            opened = self._open(number)
            for block in range(len(file.blocks)):
                self._check(number, opened, block)
                count(min(BLOCK, file.symbols * self.dtype.itemsize - block * BLOCK))

    def _pieces(self, begins: Integers, ends: Integers) -> Iterator[tuple[int, int, int]]:
        """Stretches of the row: the file, and the bytes from and to before, one after the other."""
        size = self.dtype.itemsize
        first = np.searchsorted(self._ends, begins, side="right").tolist()
        for number, begin, end in zip(first, begins.tolist(), ends.tolist(), strict=True):
            while begin < end:
                origin, most = self._edges[number : number + 2]
                yield number, (begin - origin) * size, (min(end, most) - origin) * size
                begin, number = most, number + 1  # noqa: PLW2901, what is left of the stretch

    def _read(self, pieces: list[tuple[int, int, int]]) -> Symbols:
        """The symbols in some pieces, as they were written."""
        if not pieces:
            return np.zeros(0, self.dtype)
        while True:
            opened = {number: self._open(number) for number in {piece[0] for piece in pieces}}
            for number, first, last in {(n, b // BLOCK, (e - 1) // BLOCK) for n, b, e in pieces}:
                for block in range(first, last + 1):
                    if block not in opened[number].known.checked:
                        self._check(number, opened[number], block)
            found = [self._bytes(number, opened[number], *piece) for number, *piece in pieces]
            if not any(one.has_changed() for one in opened.values()):
                return np.frombuffer(b"".join(found), self.dtype)

    def _open(self, number: int) -> "_Opened":
        """A file, with what is known of it as it is now."""
        handle = self._handles.get(number)
        if handle is None:
            try:
                handle = _Handle(self._files[number].path)
            except OSError as error:
                raise self._unreadable(number, error) from error
            if len(self._handles) >= _MOST_OPEN:
                self._handles.clear()  # who still reads one keeps it
            self._handles[number] = handle
        stamp = handle.stamp()
        known = self._known.get(number)
        if known is None or known.stamp != stamp:
            self._check_size(number, stamp[1])
            known = self._known[number] = _Known(stamp, set())
        return _Opened(handle, known)

    def _check(self, number: int, opened: "_Opened", block: int) -> None:
        """Compare a block with its sha256. Raises DataError."""
        file = self._files[number]
        begin, end = block * BLOCK, file.symbols * self.dtype.itemsize
        content = self._bytes(number, opened, begin, min(begin + BLOCK, end))
        if hashlib.sha256(content).hexdigest() != file.blocks[block]:
            raise DataError(
                f"{file.path}: altered: its bytes from {begin} on do not have the sha256 that they "
                f"were written with: {self._remedy}"
            )
        if np.frombuffer(content, self.dtype).max() >= self._size:
            raise DataError(
                f"{file.path}: it has a symbol outside the codec's {self._size}: {self._remedy}"
            )
        opened.known.checked.add(block)

    def _bytes(self, number: int, opened: "_Opened", begin: int, end: int) -> bytes:
        """The bytes of a file from `begin` to before `end`. Raises DataError."""
        try:
            content = opened.handle.read(begin, end)
            while len(content) < end - begin:  # the system gives 2 GB at most
                more = opened.handle.read(begin + len(content), end)
                if not more:
                    raise DataError(f"{self._files[number].path}: cut short: {self._remedy}")
                content += more
        except OSError as error:
            raise self._unreadable(number, error) from error
        return content

    def _check_size(self, number: int, there: int) -> None:
        file = self._files[number]
        expected = file.symbols * self.dtype.itemsize
        if there != expected:
            raise DataError(
                f"{file.path}: {there:,} bytes in place of the {expected:,} that were written: "
                f"{self._remedy}"
            )

    def _unreadable(self, number: int, error: OSError) -> DataError:
        said = f"{self._files[number].path}: cannot be read: {disk.describe(error)}"
        return DataError(f"{said}: {self._remedy}")


class _Handle:
    """A file that stays open as long as somebody reads it."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self._number = os.open(path, os.O_RDONLY)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        if hasattr(self, "_number"):
            close(self._number)

    def read(self, begin: int, end: int) -> bytes:
        return os.pread(self._number, end - begin, begin)

    def stamp(self) -> tuple[int, int, int]:
        """What tells one version of a file from another; the size stands second."""
        status = os.fstat(self._number)
        return status.st_ino, status.st_size, status.st_mtime_ns


@dataclass(frozen=True)
class _Known:
    """The blocks of one version of a file that were compared with their sha256."""

    stamp: tuple[int, int, int]
    checked: set[int]


@dataclass(frozen=True)
class _Opened:
    handle: _Handle
    known: _Known

    def has_changed(self) -> bool:
        """Whether the file is another than it was when it was opened."""
        return self.handle.stamp() != self.known.stamp
