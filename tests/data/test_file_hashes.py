"""The hash of a file is remembered until the file is another."""

import hashlib
from pathlib import Path

import pytest

from seqkit.data import checked_json, file_hashes
from seqkit.data.datasets import Located
from seqkit.data.meter import Meter
from tests.data.replacing import put_back


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hashes of files that changed just now are remembered, too."""
    monkeypatch.setattr(file_hashes, "_SETTLED", -1.0)


def sha256(file: Path) -> str:
    files = {file.name: file}
    located = Located(file, file.name)
    return file_hashes.of(located, files, file.parent / "cache", Meter())[0][file.name]


def test_an_unchanged_file_is_not_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"aaa")
    first = sha256(file)
    monkeypatch.setattr(file_hashes, "blocks", None)
    assert sha256(file) == first == hashlib.sha256(b"aaa").hexdigest()


@pytest.mark.parametrize("renamed", [False, True])
def test_other_content_under_the_old_size_and_time_is_found(renamed: bool, tmp_path: Path) -> None:
    file, other = tmp_path / "a.txt", tmp_path / "b.txt"
    file.write_bytes(b"aaa")
    sha256(file)
    status = file.stat()
    written = other if renamed else file
    written.write_bytes(b"bbb")
    put_back(written, status)
    if renamed:
        other.replace(file)
    assert file.stat().st_mtime_ns == status.st_mtime_ns
    assert sha256(file) == hashlib.sha256(b"bbb").hexdigest()


def test_what_an_earlier_version_remembered_is_not_believed(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_bytes(b"aaa")
    first = sha256(file)
    (memory,) = (tmp_path / "cache" / "hashes").iterdir()
    status = file.stat()
    memory.write_text(f'{{"a.txt": [{status.st_size}, {status.st_mtime_ns}, "{"0" * 64}"]}}')
    assert sha256(file) == first
    damages: tuple[dict[str, object], ...] = ({"a.txt": []}, {"a.txt": [1]}, {"a.txt": 3})
    for damage in damages:
        checked_json.write(memory, damage)
        assert sha256(file) == first
