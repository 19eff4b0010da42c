"""What is written beside its sha256 is believed only as it was written."""

from pathlib import Path

import pytest

from seqkit.data.shards.index import read_checked, read_index, write_checked
from seqkit.foundation.errors import DataError
from tests.data.shards.conftest import Prepare
from tests.data.shards.test_reading import rewritten

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


VALUE = {"name": "a", "é\udcff": [1, 2.5, None, {"b": "\n"}], "": []}


def test_values_come_back(tmp_path: Path) -> None:
    write_checked(tmp_path / "new" / "a.json", VALUE)
    assert read_checked(tmp_path / "new" / "a.json") == VALUE
    assert read_checked(tmp_path / "none.json") is None


def test_every_flipped_bit_and_every_cut_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_checked(path, VALUE)
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            assert read_checked(path) in (None, VALUE)  # as where \u00E9 becomes \u00e9
        path.write_bytes(whole[:place])
        assert read_checked(path) is None


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"3", b'{"a": 1}', b'{"value": {}}', b"[" * 100_000, b"\xff"]
)
def test_anything_else_is_nothing(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(content)
    assert read_checked(tmp_path / "a.json") is None
