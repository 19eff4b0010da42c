"""What a killed process was writing is removed by the next one, and nothing else is."""

import os
import platform
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seqkit.foundation import disk
from tests.conftest import environment

pytestmark = pytest.mark.faults

WRITING = """
import sys, time
from pathlib import Path
from seqkit.foundation import disk
with disk.atomic_write(Path(sys.argv[1])) as stream:
    stream.write(b"half")
    stream.flush()
    print("written", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def _forgetful() -> None:
    """Every test is another process."""
    disk.clear_halves.cache_clear()


def test_a_file_stays_while_its_process_lives_and_goes_once_it_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, str(tmp_path / "a.txt")], env=environment(),
        stdout=subprocess.PIPE, text=True,
    ) as writing:  # fmt: skip
        assert writing.stdout is not None
        assert writing.stdout.readline() == "written\n"
        disk.clear_halves(tmp_path)
        (half,) = tmp_path.glob("*.half.tmp")
        assert half.read_text() == "half"
        writing.send_signal(signal.SIGKILL)
    assert half.exists()
    disk.clear_halves.cache_clear()
    with disk.atomic_write(tmp_path / "b.txt") as stream:
        stream.write(b"whole")
    assert [file.name for file in tmp_path.iterdir()] == ["b.txt"]


@pytest.mark.parametrize(("age", "left"), [(0, True), (23, True), (25, False)])
def test_another_hosts_file_is_kept_for_a_day(
    age: int, left: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(platform, "node", lambda: "elsewhere")
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
