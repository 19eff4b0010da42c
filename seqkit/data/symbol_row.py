"""Symbols in files as one row, of which a part is read when it is asked for."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from seqkit.data.symbol_files import StoredFile, StoredFiles, Stretch
from seqkit.symbols import Integers, Symbols, symbol_dtype

_NEAR = 1 << 12  # symbols: places no further apart are read at once


class StoredSymbols:
    """Symbols (N,) in files. A slice, or an array of places, gives those symbols as an array.

    A block of a file is compared with its sha256 when something in it is asked for first, and
    again when the file has changed since. Neither the start nor the memory grow with the data.
    """

    ndim = 1

    def __init__(self, row: "_Row", begin: int, end: int) -> None:
        """The symbols from `begin` to before `end` of all."""
        self._row = row
        self._begin = begin
        self.size = end - begin
        self.dtype: np.dtype[Any] = row.dtype
        self.itemsize: int = row.dtype.itemsize
        self.nbytes: int = self.size * self.itemsize
        self.in_shards = row.in_shards
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
        stored = _Row(files, size, remedy, in_shards)
        return cls(stored, 0, sum(file.symbols for file in files))

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
            return self._row.stretch(self._begin + begin, self._begin + max(begin, end))
        if not isinstance(places, np.ndarray) or places.dtype != np.int64:
            raise IndexError("symbols in files are read by a slice or an array of int64")
        if places.size and not 0 <= places.min() <= places.max() < self.size:
            raise IndexError(f"a place is not among the {self.size} symbols")
        return self._row.gather(places + self._begin)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        if copy is False:
            raise ValueError("symbols in files can only be copied")
        return self[:].astype(self.dtype if dtype is None else dtype, copy=False)

    def cut(self, begin: int, end: int) -> "StoredSymbols":
        """Those from `begin` to before `end`, of which nothing is read yet."""
        return StoredSymbols(self._row, self._begin + begin, self._begin + end)

    def check(self, count: Callable[[int], None]) -> None:
        """Compare all files with their sha256 now; `count` hears how many bytes were read.

        Raises:
            DataError: they are not as they were written, or cannot be read.
        """
        self._row.files.check(count)


class _Row:
    """The symbols of all files, one after the other."""

    def __init__(
        self, files: Sequence[StoredFile], size: int, remedy: str, in_shards: bool
    ) -> None:
        self.dtype = symbol_dtype(size).newbyteorder("<")
        self.in_shards = in_shards
        self.files = StoredFiles(files, size, remedy)
        self._edges = [0, *itertools.accumulate(file.symbols for file in files)]
        self._ends = np.array(self._edges[1:], np.int64)

    def stretch(self, begin: int, end: int) -> Symbols:
        """The symbols from `begin` to before `end`."""
        return self._read(np.array([begin]), np.array([end]))

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
        found: Symbols = self._read(begins, ends)
        sizes = ends - begins
        origins = np.cumsum(sizes) - sizes - begins  # where in `found` a piece lies
        runs = np.diff(edges, prepend=0, append=len(flat))
        found = found[flat + np.repeat(origins, runs)]
        return found.reshape(places.T.shape).T

    def _read(self, begins: Integers, ends: Integers) -> Symbols:
        """The symbols of some stretches of the row, one after the other."""
        size = self.dtype.itemsize
        found = np.empty((ends - begins).clip(0).sum(), self.dtype)
        content = found.view(np.uint8).data
        wanted: dict[int, list[Stretch]] = {}
        done = 0
        for number, begin, end in self._pieces(begins, ends):
            after = done + (end - begin) * size
            wanted.setdefault(number, []).append((begin * size, content[done:after]))
            done = after
        for number, stretches in wanted.items():  # one file at a time: not all may be open
            self.files.read(number, stretches)
        return found

    def _pieces(self, begins: Integers, ends: Integers) -> Iterator[tuple[int, int, int]]:
        """What some stretches have of each file: its number, the symbols from and to before."""
        first = np.searchsorted(self._ends, begins, side="right").tolist()
        for number, begin, end in zip(first, begins.tolist(), ends.tolist(), strict=True):
            while begin < end:
                origin, most = self._edges[number : number + 2]
                yield number, begin - origin, min(end, most) - origin
                begin, number = most, number + 1  # noqa: PLW2901, what is left of the stretch
