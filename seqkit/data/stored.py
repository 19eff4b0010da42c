"""The symbols of all shards as one row, of which a part is read when it is asked for."""

import hashlib
import itertools
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from seqkit import disk
from seqkit.data.shards.index import BLOCK, INDEX, REMEDY, Index
from seqkit.errors import DataError
from seqkit.symbols import Symbols

_MOST_MAPPED = 1 << 14  # shards; a process may have some 65,000 mappings


class StoredSymbols:
    """Symbols (N,) in shards. A slice, or an array of places, gives those symbols as an array.

    A block of a shard is compared with its sha256 when something in it is asked for first. The
    files are mapped into memory then, too, so that neither start nor memory grow with the data.
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

    @classmethod
    def of(cls, folder: Path, index: Index, size: int) -> "StoredSymbols":
        """All symbols of the shards in a folder, each below `size`.

        Raises:
            DataError: a shard is missing, or longer or shorter than it was.
        """
        return cls(_Files(folder, index, size), 0, index.symbols)

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

    def release(self) -> None:
        """Give back the memory of what was read so far; it is read again when needed."""
        self._files.release()


class _Files:
    """The shards of a folder."""

    def __init__(self, folder: Path, index: Index, size: int) -> None:
        self._folder, self._shards, self._size = folder, index.shards, size
        self.dtype = np.dtype(index.dtype).newbyteorder("<")
        counts = np.array([shard.symbols for shard in index.shards], np.int64)
        self._begins = np.cumsum(counts) - counts
        self._blocks = -(-counts * self.dtype.itemsize // BLOCK)
        self._first_blocks = np.cumsum(self._blocks) - self._blocks
        self._checked = np.zeros(int(self._blocks.sum()), np.bool_)
        self._mapped: dict[int, np.memmap[Any, Any]] = {}
        for shard in index.shards:
            path, expected = folder / shard.file, shard.symbols * self.dtype.itemsize
            try:
                there = path.stat().st_size
            except OSError as error:
                raise DataError(f"{path}: {disk.describe(error)}: {REMEDY}") from error
            if there != expected:
                raise DataError(
                    f"{path}: {there:,} bytes in place of the {expected:,} that "
                    f"{INDEX} names: {REMEDY}"
                )

    def stretch(self, begin: int, end: int) -> Symbols:
        """The symbols from `begin` to before `end`: a view if they lie in one shard."""
        if begin == end:
            return np.zeros(0, self.dtype)
        first, last = np.searchsorted(self._begins, [begin, end - 1], side="right") - 1
        found = []
        for number in range(first, last + 1):
            origin = int(self._begins[number])
            own = max(begin - origin, 0), min(end - origin, self._shards[number].symbols)
            found.append(self._open(number, *own)[slice(*own)])
        return np.asarray(found[0]) if len(found) == 1 else np.concatenate(found)

    def gather(self, places: npt.NDArray[np.int64]) -> Symbols:
        """The symbols at some places, in an array of their shape."""
        flat = places.ravel()
        numbers = np.searchsorted(self._begins, flat, side="right") - 1
        order = np.argsort(numbers, kind="stable")
        found = np.empty(len(flat), self.dtype)
        edges = np.flatnonzero(np.diff(numbers[order], prepend=-1, append=-1))
        for begin, end in itertools.pairwise(edges.tolist()):
            own = order[begin:end]
            number = int(numbers[own[0]])
            inside = flat[own] - self._begins[number]
            shard = self._open(number, int(inside.min()), int(inside.max()) + 1)
            found[own] = shard[inside]
        return found.reshape(places.shape)

    def release(self) -> None:
        if hasattr(mmap, "MADV_DONTNEED"):
            for mapped in [*self._mapped.values()]:  # another thread may read on
                mapped._mmap.madvise(mmap.MADV_DONTNEED)  # type: ignore[attr-defined]

    def _open(self, number: int, begin: int, end: int) -> "np.memmap[Any, Any]":
        """A shard whose blocks are checked from the symbol `begin` to before `end`."""
        first, last = begin * self.dtype.itemsize // BLOCK, (end - 1) * self.dtype.itemsize // BLOCK
        origin = self._first_blocks[number]
        for block in range(first, last + 1):
            if not self._checked[origin + block]:
                self._check(number, block)
                self._checked[origin + block] = True
        mapped = self._mapped.get(number)
        if mapped is None:
            path = self._folder / self._shards[number].file
            try:
                mapped = np.memmap(path, self.dtype, "r")
            except (OSError, ValueError) as error:
                raise DataError(f"{path}: cannot be read: {error}") from error
            if len(self._mapped) >= _MOST_MAPPED:
                self._mapped.clear()  # who still reads one keeps it
            self._mapped[number] = mapped
        return mapped

    def _check(self, number: int, block: int) -> None:
        """Compare a block with its sha256. Raises DataError."""
        shard = self._shards[number]
        path = self._folder / shard.file
        try:
            with path.open("rb") as stream:  # what is read so counts as no memory of this process
                stream.seek(block * BLOCK)
                content = stream.read(BLOCK)
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {disk.describe(error)}") from error
        if hashlib.sha256(content).hexdigest() != shard.blocks[block]:
            raise DataError(
                f"{path}: altered: its bytes from {block * BLOCK} on do not have the sha256 that "
                f"{INDEX} names: {REMEDY}"
            )
        if np.frombuffer(content, self.dtype).max() >= self._size:
            raise DataError(f"{path}: it has a symbol outside the codec's {self._size}: {REMEDY}")
