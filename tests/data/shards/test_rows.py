"""Shards of a data set's rows: each row a document, wherever the file is cut."""

from collections.abc import Callable
from pathlib import Path

import pytest

from seqkit.config import DataConfig
from seqkit.data import remote
from tests.data.hf_store import COLUMN, store
from tests.data.shards.conftest import Prepare, encoded, read, starts_in

ROWS = ["a row\n" * (1 + number % 5) + "☃" * (number % 3) for number in range(40)]


@pytest.mark.parametrize("codec", ["auto", "characters"])
@pytest.mark.parametrize("size", [7, 100, 1 << 20])
def test_shards_of_rows_are_what_reading_them_gives(
    size: int, codec: str, small: Callable[[int], None], prepared: Prepare, tmp_path: Path
) -> None:
    small(size)
    path = store(tmp_path / "set", ROWS)
    data = DataConfig(kind="hf", path=[str(path)], column=COLUMN, codec=codec)
    here = remote.here(data, tmp_path / "cache", print)
    index = prepared(kind="hf", path=here.path, codec=codec)
    symbols, starts, spec = encoded(kind="hf", path=here.path, codec=codec)
    assert read(tmp_path / "shards", index) == symbols
    assert (starts_in(tmp_path / "shards"), index.codec) == (starts, spec)
    assert len(starts) == len(ROWS)
    assert (index.names, index.documents) == (["set"], [len(ROWS)])
    assert (index.name, index.settings["kind"]) == ("set", "text")
    if size < 200:
        assert len(index.shards) > 5
