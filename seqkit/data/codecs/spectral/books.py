"""A residual vector quantiser: rows as P codes of V, each of which says what those before missed.

Its books are fitted by k-means to rows on their principal components. What they hold, the means of
many rows, needs fewer components than the rows themselves; so a checkpoint has it as components and
values on them, of 8 bits each. k-means is our own: a library for it would bring SciPy along, and it
has eleven lines.
"""

import base64
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from seqkit.data.codecs.spectral.transform import Rows
from seqkit.symbols import Integers

_ROUNDS = 10  # of k-means
_FITTED = 192  # principal components that codes are found on
_KEPT = 160  # components that the books are kept on
_AT_ONCE = 64  # rows; always as many, so that sums do not depend on how rows come


class Books(NamedTuple):
    """P books of V rows, as whole numbers.

    mean: of all rows, (columns,) float16.
    components: (D, columns) int8, in 127ths of `spans` (D,) float32.
    values: (P, V, D) int8, in 127ths of `sizes` (P, D) float32.
    """

    mean: npt.NDArray[np.float16]
    components: npt.NDArray[np.int8]
    spans: Rows
    values: npt.NDArray[np.int8]
    sizes: Rows

    @property
    def shape(self) -> tuple[int, int, int]:
        """P, V, columns."""
        codes, size, _ = self.values.shape
        return codes, size, len(self.mean)

    def tables(self) -> Rows:
        """What each code adds to a row, (P, V, columns); the first of them the mean, too."""
        # In float64, so that these are the same everywhere once they are rounded.
        values = self.values * self.sizes[:, None].astype(float)
        tables = values @ (self.components * self.spans[:, None].astype(float)) / 127**2
        tables[0] += self.mean
        rounded: Rows = tables.astype(np.float32)
        return rounded

    def to_spec(self) -> dict[str, Any]:
        """A JSON object of them."""
        named = self._asdict().items()
        return {name: [base64.b64encode(a).decode(), *a.shape] for name, a in named}

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> "Books":
        """Rebuild books from `to_spec()`. Raises any exception for another spec."""
        types = (np.float16, np.int8, np.float32, np.int8, np.float32)
        books = cls(
            *(_array(spec[name], kind) for name, kind in zip(cls._fields, types, strict=True))
        )
        (codes, size, rank), (_, columns) = books.values.shape, books.components.shape
        wanted = [(columns,), (rank, columns), (rank,), (codes, size, rank), (codes, rank)]
        if [a.shape for a in books] != wanted or not all(np.isfinite(a).all() for a in books):
            raise ValueError("the books of a spectral codec do not fit each other")
        return books


def _array(stored: Any, kind: type[Any]) -> npt.NDArray[Any]:
    content, *shape = stored
    return np.frombuffer(base64.b64decode(content, validate=True), kind).reshape(shape)


def fit(rows: Rows, codes: int, size: int, seed: int = 0) -> Books:
    """P `codes` of V `size` for rows (n, columns), n > 0; the same for the same rows.

    The first book has no row for code 0, which no row is given.
    """
    rng = np.random.default_rng(seed)
    mean = rows.mean(0).astype(np.float16)
    missed = rows - mean
    projected = missed @ _components(missed, _FITTED, rng).T
    books = []
    for code in range(codes):
        free = int(code == 0)
        centres = _k_means(projected, size - free, rng)
        found = nearest(projected, centres)
        book = _means(missed, found, np.zeros((size - free, missed.shape[1]), np.float32))
        missed, projected = missed - book[found], projected - centres[found]
        books.append(np.pad(book, ((free, 0), (0, 0))))
    full = np.concatenate(books)
    components = _components(full, _KEPT, rng)
    values = (full @ components.T).reshape(codes, size, -1)
    spans, sizes = np.abs(components).max(1), np.abs(values).max(1)
    short = _in_127ths(components, spans[:, None]), _in_127ths(values, sizes[:, None])
    return Books(mean, short[0], spans, short[1], sizes)


def _in_127ths(values: Rows, of: Rows) -> npt.NDArray[np.int8]:
    return np.rint(127 * values / np.maximum(of, np.float32(1e-12))).astype(np.int8)


def _components(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """The principal components of rows (n, columns) around zero, (at most `most`, columns).

    By subspace iteration (Halko, Martinsson and Tropp, 2011).
    """
    count = min(most, *rows.shape)
    found = rng.standard_normal((min(count + 8, rows.shape[1]), rows.shape[1]), np.float32)
    for _ in range(4):
        found = np.linalg.qr((found @ rows.T @ rows).T)[0].T
    turned = np.linalg.svd(rows @ found.T, full_matrices=False)[2]
    return (turned @ found)[:count].astype(np.float32)


def _k_means(rows: Rows, size: int, rng: np.random.Generator) -> Rows:
    """Lloyd's `size` centres of rows, (size, columns); a centre that nothing is near is drawn."""
    centres = rows[rng.choice(len(rows), size, replace=len(rows) < size)]
    for _ in range(_ROUNDS):
        drawn = rows[rng.integers(0, len(rows), size)]
        centres = _means(rows, nearest(rows, centres), drawn)
    return centres


def _means(rows: Rows, found: Integers, otherwise: Rows) -> Rows:
    """The mean of the rows that each code was found for, (V, columns); `otherwise` for none."""
    counts = np.bincount(found, minlength=len(otherwise))
    used = np.flatnonzero(counts)
    begins = np.cumsum(counts[used]) - counts[used]
    means = otherwise.copy()
    ordered = rows[np.argsort(found, kind="stable")]
    means[used] = np.add.reduceat(ordered, begins) / counts[used, None].astype(np.float32)
    return means


def nearest(rows: Rows, centres: Rows) -> Integers:
    """The nearest centre of each row, (n,)."""
    half = (centres**2).sum(1) / 2
    padded = np.zeros((-(-len(rows) // _AT_ONCE) * _AT_ONCE, rows.shape[1]), np.float32)
    padded[: len(rows)] = rows
    pieces = padded.reshape(-1, _AT_ONCE, rows.shape[1])
    found = [(half - piece @ centres.T).argmin(1) for piece in pieces]
    return np.concatenate([*found, np.zeros(0, np.int64)])[: len(rows)]


def encoded(rows: Rows, tables: Rows) -> Integers:
    """The codes (n, P) of rows (n, columns): in each book the nearest to what is left."""
    codes = []
    for place, table in enumerate(tables):
        free = int(place == 0)
        codes.append(nearest(rows, table[free:]) + free)
        rows = rows - table[codes[-1]]
    return np.stack(codes, 1)


def decoded(codes: Integers, tables: Rows) -> Rows:
    """The rows (n, columns) of codes (n, P)."""
    rows: Rows = tables[0][codes[:, 0]]
    for table, code in zip(tables[1:], codes.T[1:], strict=True):
        rows += table[code]
    return rows
