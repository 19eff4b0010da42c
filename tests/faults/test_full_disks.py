"""A disk that is full: exit code 6 in a line, what was whole stays whole, nothing half is left."""

import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seqkit.foundation import disk
from tests.conftest import SENTENCE, TINY, FullDisk, Run, completed, environment
from tests.warm_python import python

pytestmark = pytest.mark.faults
COMMANDS = {
    "train": [*TINY, "data.path=a.txt", "run_dir=run", "train.max_steps=9", "resume=auto"],
    "generate": ["generate", "checkpoint={run}", "length=500000", "out=out.txt", "device=cpu"],
    "export": ["export", "checkpoint={run}", "out=out.html"],
}


# Python up to 3.12 does not notice that it wrote half of a module's bytecode.
NO_BYTECODE = """
import sys
sys.dont_write_bytecode = True
from seqkit.__main__ import main
main()
"""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_file_that_may_not_grow_is_named_and_removed(
    name: str, trained: Path, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text(SENTENCE * 40)
    done = subprocess.run(
        [python(), "-c", NO_BYTECODE, *(word.format(run=trained) for word in COMMANDS[name])],
        cwd=tmp_path, env={**environment(), "SEQKIT_CACHE_DIR": str(tmp_path / "cache")}, text=True,
        capture_output=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000)),
    )  # fmt: skip
    assert done.returncode == 6, done.stderr
    assert "file too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.rglob("*.tmp"))
    assert not list(tmp_path.glob("out.*"))


SMALL_DISK = """
mount -t tmpfs -o size=$0k none "$1" && cd "$1" || exit 99
cp -r "$2" run && shift 2
"$@"
code=$?
find . -type f ! -path "./run/*"
exit $code
"""
ON_SMALL_DISK = {
    "train": [*TINY, "data.path={data}", "run_dir=new", "train.max_steps=9"],
    "text": ["generate", "checkpoint=run", "length=10000000", "out=a.txt", "device=cpu"],
    "wav": ["generate", "checkpoint=run", "seconds=1000", "out=a.wav", "device=cpu"],
    "report": ["report", "run_dir=run"],
}
"""Commands, each of which needs more room than there is."""


def has_small_disks(folder: Path) -> bool:
    """Whether this user may mount a disk of their own."""
    mount = ["unshare", "-rm", "mount", "-t", "tmpfs", "none", str(folder)]
    return bool(shutil.which("unshare")) and not subprocess.run(mount, check=False).returncode


@pytest.mark.thorough
@pytest.mark.parametrize("name", ON_SMALL_DISK)
def test_a_disk_that_gets_full_is_told_and_nothing_half_stays(
    name: str, trained: Path, voice: Path, tmp_path: Path
) -> None:
    if not has_small_disks(tmp_path):
        pytest.skip("no small disk can be mounted here")
    place, data = tmp_path / "disk", tmp_path / "a.txt"
    place.mkdir()
    data.write_text(SENTENCE * 20_000)
    run = voice if name == "wav" else trained
    size = sum(file.stat().st_size for file in run.rglob("*")) // 1024
    size += {"report": 30, "train": 100}.get(name, 60)
    words = [word.format(data=data) for word in ON_SMALL_DISK[name]]
    disk_of = ["unshare", "-rm", "sh", "-c", SMALL_DISK, str(size), str(place), str(run)]
    line = [*disk_of, sys.executable, "-m", "seqkit", *words]
    done = completed(line, variables={"SEQKIT_CACHE_DIR": str(tmp_path / "cache")})
    assert done.returncode == 6, done.stderr
    assert "Traceback" not in done.stderr
    assert (
        name != "train"
        or "the same command begins it" in done.stderr
        or "To go on: " in done.stderr
    )
    left = done.stdout.splitlines()
    assert not [file for file in left if re.search(r"\.tmp$|/a\.", file)], left


def test_no_empty_file_of_sound_stays_behind(
    voice: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(voice, tmp_path / "run")
    before = set((tmp_path / "run" / "samples").iterdir())
    words = ["generate", "checkpoint=run", "seconds=1", "device=cpu"]
    too_many = subprocess.run(
        [python(), "-m", "seqkit", *words, "streams=200"],
        cwd=tmp_path, env=environment(), text=True, capture_output=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (128, 128)),
    )  # fmt: skip
    assert too_many.returncode == 6 and "too many open files" in too_many.stderr.lower()
    assert set((tmp_path / "run" / "samples").iterdir()) == before
    monkeypatch.chdir(tmp_path)
    real = disk.open_file
    monkeypatch.setattr(  # as they are reserved there is room, and none for what is written
        disk,
        "open_file",
        lambda path, mode: real(path, mode) if mode != "wb" else FullDisk(path, mode, 0),
    )
    for out in ([], ["out=a.wav"]):
        assert "no space left" in run.fails(6, *words, *out, "overwrite=true")
    assert set((tmp_path / "run" / "samples").iterdir()) == before
    assert {file.name for file in tmp_path.iterdir()} == {"run"}
