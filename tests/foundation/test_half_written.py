"""What a killed process was writing is removed, and nothing else is."""

import os
import time
from pathlib import Path

import pytest

from seqkit.foundation import disk

pytestmark = pytest.mark.faults


@pytest.fixture(autouse=True)
def _forgetful() -> None:
    """Every test is another process."""
    disk.clear_halves.cache_clear()


@pytest.mark.parametrize(("age", "left"), [(0, True), (23, True), (25, False)])
def test_what_is_not_whole_is_kept_for_a_day(age: int, left: bool, tmp_path: Path) -> None:
    half = disk.half_of(tmp_path / "recordings")
    half.mkdir()
    then = time.time() - 3600 * age
    os.utime(half, (then, then))
    disk.clear_halves(tmp_path)
    assert half.exists() == left


def test_other_files_are_nobodys_business(tmp_path: Path) -> None:
    for name in (".a.txt.12ab.7.34cd.tmp", "a.txt.12ab.7.34cd.half.tmp", ".half.tmp", ".a.part"):
        (tmp_path / name).touch()
    before = set(tmp_path.iterdir())
    disk.clear_halves(tmp_path)
    assert set(tmp_path.iterdir()) == before


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127, "字" * 85, "caf\udce9.txt"])
def test_any_name_can_be_written(name: str, tmp_path: Path) -> None:
    with disk.atomic_write(tmp_path / name) as stream:
        stream.write(b"whole")
    assert [file.name for file in tmp_path.iterdir()] == [name]
