"""An index that somebody changed and signed again is refused where it is read."""

from pathlib import Path

import pytest

from seqkit.data.shards.index import read_index
from seqkit.foundation.errors import DataError
from tests.data.shards.conftest import Prepare
from tests.data.shards.test_opened import rewritten

SHARD = {"file": "000000.bin", "symbols": 1, "sha256": "", "blocks": [""]}


@pytest.mark.parametrize(
    "values",
    [
        {"shards": [{**SHARD, "file": "0\0.bin"}]},
        {"shards": [{**SHARD, "symbols": "1"}]},
        {"shards": [{**SHARD, "blocks": [1]}]},
        {"validation_start": -7},
        {"validation_start": 10**15},
        {"validation_start": 5, "test_start": 3},
        {"test_start": "x"},
        {"name": ["a"]},
        {"names": [1, 2, 3, 4, 5]},
        {"documents": [True] * 5},
        {"snr": "loud"},
        {"settings": []},
        {"settings": {"kind": "text", "newline": ["lf"]}},
        {"settings": {"kind": "audio", "sample_rate": "x"}},
    ],
)
def test_values_that_no_preparation_writes(
    values: dict[str, object], prepared: Prepare, letters: Path, tmp_path: Path
) -> None:
    prepared(path=[str(letters)])
    rewritten(tmp_path / "shards", **values)
    with pytest.raises(DataError, match=r"index\.json: damaged \(.*\): prepare the data again"):
        read_index(tmp_path / "shards")


def test_thousands_of_brackets(prepared: Prepare, letters: Path, tmp_path: Path) -> None:
    prepared(path=[str(letters)])
    (tmp_path / "shards" / "index.json").write_text("[" * 100_000)
    with pytest.raises(DataError, match=r"index\.json: damaged: prepare the data again"):
        read_index(tmp_path / "shards")
