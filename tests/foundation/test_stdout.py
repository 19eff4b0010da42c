"""stdout that is full, and streams that are closed: no traceback, and the code that fits."""

import subprocess
from pathlib import Path

import pytest

from tests.conftest import TINY, completed
from tests.warm_python import python

pytestmark = pytest.mark.faults

COMMANDS = {
    "version": "--version",
    "evaluate": "evaluate checkpoint={run} data.path={text} device=cpu",
    "generate": "generate checkpoint={run} length=5 device=cpu",
    "train": " ".join([*TINY, "data.path={text}", "train.max_steps=1", "run_dir={new}"]),
    "help": "--help",
    "config": "recipe=shakespeare --cfg",
    "compare": "compare runs={run}",
    "score": "score checkpoint={run} data.path={text} device=cpu",
    "streams": "generate checkpoint={run} length=5 streams=3 device=cpu",
}


def shell(
    name: str, redirection: str, trained: Path, text_file: Path, tmp_path: Path
) -> subprocess.CompletedProcess[str]:
    words = COMMANDS[name].format(run=trained, text=text_file, new=tmp_path / "new")
    return completed(["bash", "-c", f'"{python()}" -m seqkit {words} {redirection}'])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="Linux only")
@pytest.mark.thorough(keep=4)
@pytest.mark.parametrize("name", COMMANDS)
def test_a_full_disk_behind_stdout_is_named_once(
    name: str, trained: Path, text_file: Path, tmp_path: Path
) -> None:
    done = shell(name, ">/dev/full", trained, text_file, tmp_path)
    assert done.returncode == 6, done.stderr
    assert done.stderr.count("cannot write stdout: no space left on device") == 1
    assert done.stderr.count("seqkit: error") == 1
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr


@pytest.mark.thorough
@pytest.mark.parametrize("redirection", [">&-", "2>&-", ">&- 2>&- <&-"])
@pytest.mark.parametrize(
    "name", ["version", "config", "compare", "evaluate", "score", "streams", "train"]
)
def test_streams_that_are_closed_from_the_start(
    redirection: str, name: str, trained: Path, text_file: Path, tmp_path: Path
) -> None:
    done = shell(name, redirection, trained, text_file, tmp_path)
    lost = ">&-" in redirection.split() and name != "train"  # a training leaves its run
    assert done.returncode == (6 if lost else 0), done.stderr
    assert "Traceback" not in done.stderr + done.stdout
    if redirection == ">&-":
        told = "stdout is closed: no closing sample" if name == "train" else "error: stdout is clos"
        assert done.stderr.count(told) == 1
    if name == "train":
        assert (tmp_path / "new" / "summary.json").exists()


def test_a_result_file_needs_no_stdout(trained: Path, text_file: Path, tmp_path: Path) -> None:
    done = shell("evaluate", f"out={tmp_path / 'a'} >&-", trained, text_file, tmp_path)
    assert (done.returncode, (tmp_path / "a").exists()) == (0, True), done.stderr
