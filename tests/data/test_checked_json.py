"""What the cache remembers is believed only as it was written."""

from pathlib import Path

import pytest

from seqkit.data import checked_json

VALUE = {"name": "a", "é\udcff": [1, 2.5, None, {"b": "\n"}], "": []}


def test_values_come_back(tmp_path: Path) -> None:
    checked_json.write(tmp_path / "new" / "a.json", VALUE)
    assert checked_json.read(tmp_path / "new" / "a.json") == VALUE
    assert checked_json.read(tmp_path / "none.json") is None


def test_every_flipped_bit_and_every_cut_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    checked_json.write(path, VALUE)
    whole = path.read_bytes()
    for place in range(len(whole)):
        for bit in range(8):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << bit
            path.write_bytes(damaged)
            assert checked_json.read(path) in (None, VALUE)  # as where \u00E9 becomes \u00e9
        path.write_bytes(whole[:place])
        assert checked_json.read(path) is None


@pytest.mark.parametrize(
    "content", [b"", b"[]", b"3", b'{"a": 1}', b'{"value": {}}', b"[" * 100_000, b"\xff"]
)
def test_anything_else_is_nothing(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(content)
    assert checked_json.read(tmp_path / "a.json") is None
