"""What a killed process was writing is removed, and nothing else is."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from seqkit.foundation import disk
from seqkit.runs.folder import RunFolder
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


def test_a_killed_runs_file_goes_once_the_run_goes_on(trained: Path, tmp_path: Path) -> None:
    shutil.copytree(trained, tmp_path / "run")
    place = tmp_path / "run" / "checkpoints"
    with subprocess.Popen(
        [sys.executable, "-c", WRITING, str(place / "last.safetensors")], env=environment(),
        stdout=subprocess.PIPE, text=True,
    ) as writing:  # fmt: skip
        assert writing.stdout is not None
        assert writing.stdout.readline() == "written\n"
        (half,) = place.glob("*.half.tmp")
        assert half.read_text() == "half"
        writing.send_signal(signal.SIGKILL)
    assert half.exists()
    with RunFolder(tmp_path / "run").claimed():
        assert not half.exists()


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
