"""Places and slices of symbols in files are what was written there."""

from typing import Any

import numpy as np
import pytest

from seqkit.data import symbol_files
from seqkit.data.symbol_files import StoredFile
from seqkit.data.symbol_row import StoredSymbols
from tests.data.conftest import VALUES


def row(files: list[StoredFile]) -> StoredSymbols:
    return StoredSymbols.of(files, 300, "start again")


PLACES = {
    "a stretch": np.arange(690, 720),
    "lanes": np.arange(40)[:, None] + np.arange(0, 5000, 700),
    "a ring": (np.arange(40)[:, None] + np.array([4980, 100])) % 5000,
    "documents": np.array([3, 4, 4, 5, 6, 6, 7]),
    "anywhere": np.random.default_rng(1).integers(0, 5000, (17, 9)),
    "backwards": np.arange(4999, -1, -1),
    "nowhere": np.zeros((0, 4), np.int64),
}


@pytest.mark.parametrize("name", PLACES)
@pytest.mark.parametrize("most_open", [1, 256])
def test_places_and_slices_are_what_was_written(
    name: str, most_open: int, written: list[StoredFile], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(symbol_files, "_most_open", lambda: most_open)
    symbols, places = row(written), PLACES[name]
    assert np.array_equal(symbols[places], VALUES[places])
    assert np.array_equal(symbols.cut(1000, 5000)[places % 4000], VALUES[1000:][places % 4000])
    assert np.array_equal(symbols[650:4100], VALUES[650:4100])


@pytest.mark.parametrize(
    ("index", "said"),
    [
        (np.array([7, 8]), "a place is not among the 8 symbols"),
        (np.array([[-1], [3]]), "a place is not among the 8 symbols"),
        (3, "by a slice or an array of int64"),
        (np.array([True] * 8), "by a slice or an array of int64"),
        (slice(0, 8, 2), "by a slice or an array of int64"),
    ],
)
def test_what_is_not_among_the_symbols_is_not_read(
    index: Any, said: str, written: list[StoredFile]
) -> None:
    with pytest.raises(IndexError, match=said):
        row(written).cut(0, 8)[index]


@pytest.mark.parametrize("read", [np.array, np.asarray, lambda symbols: symbols[:]])
def test_what_is_read_may_be_written_to(read: Any, written: list[StoredFile]) -> None:
    symbols = row(written)
    found = read(symbols)
    found += 1
    assert np.array_equal(symbols, VALUES)
    assert np.asarray(symbols, np.int64).dtype == np.int64
