"""Signals come through where the work can be interrupted, and nowhere else."""

import signal
import sys
import time
from pathlib import Path

import pytest

from tests.conftest import TINY, Run, Write, completed, environment, start, wait_for_steps

pytestmark = pytest.mark.faults


def test_two_ctrl_c_in_a_moment_still_save(text_file: Path, tmp_path: Path) -> None:
    training = start(tmp_path / "a", text_file, "train.max_steps=100000")
    wait_for_steps(tmp_path / "a", 20)
    training.send_signal(signal.SIGINT)
    time.sleep(0.01)
    training.send_signal(signal.SIGINT)
    _, said = training.communicate()
    assert training.returncode == 130
    assert "the state is saved" in said
    assert (tmp_path / "a" / "checkpoints" / "last.safetensors").exists()


NO_DISK = """
import pathlib, time
from seqkit.runs.folder import RunFolder

DATASETS = {}
save = RunFolder.save

def never(self, saved):
    if saved.metrics["step"] <= 10:
        return save(self, saved)
    pathlib.Path(self.path, "begun").touch()
    while True:
        time.sleep(1)

RunFolder.save = never
"""


@pytest.mark.parametrize(
    ("number", "code", "every"), [(signal.SIGINT, 130, 0), (signal.SIGTERM, 75, 10)]
)
def test_a_second_signal_ends_a_training_whose_disk_does_not_answer(
    number: signal.Signals,
    code: int,
    every: int,
    text_file: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "no_disk.py").write_text(NO_DISK)
    monkeypatch.chdir(tmp_path)
    run = tmp_path / "a"
    words = ("train.max_steps=100000", f"train.checkpoint_every={every}", "plugins=no_disk")
    training = start(run, text_file, *words)
    wait_for_steps(run, 20)
    training.send_signal(number)
    while training.poll() is None and not (run / "begun").exists():
        time.sleep(0.02)
    time.sleep(1.1)
    training.send_signal(number)
    _, said = training.communicate(timeout=60)
    assert training.returncode == code
    again = f"To go on: python -m seqkit run_dir={run} resume=auto plugins=no_disk"
    assert said.splitlines()[-1].endswith(f"The run's last checkpoint is whole. {again}")


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
@pytest.mark.parametrize("command", ["train", "evaluate", "export", "inspect"])
def test_a_signal_before_the_work_begins_is_one_line(
    command: str, number: signal.Signals, code: int, tmp_path: Path
) -> None:
    plug_in = f"import os, signal\nos.kill(os.getpid(), signal.{number.name})\n"
    (tmp_path / "signals_itself.py").write_text(plug_in)
    done = completed(
        [sys.executable, "-m", "seqkit", command, "plugins=signals_itself"],
        cwd=tmp_path,
        variables={"PYTHONPATH": f"{environment()['PYTHONPATH']}:{tmp_path}"},
    )
    assert done.returncode == code
    assert done.stderr.startswith("seqkit: error: ")
    assert done.stderr.endswith(": it had not begun; the same command begins it\n")
    assert done.stderr.count("\n") == 1
    assert [file.name for file in tmp_path.iterdir() if file.suffix != ".py"] in (
        [],
        ["__pycache__"],
    )


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 75)])
def test_a_signal_while_a_training_is_set_up_says_that_nothing_is_lost(
    number: signal.Signals, code: int, run: Run, write: Write, tmp_path: Path
) -> None:
    signalling = f"import signal\n        signal.raise_signal(signal.{number.name})\n"
    code_of_data = f"class Data:\n    def locate(self, folders):\n        {signalling}"
    write("signalling.py", f"{code_of_data}\nDATASETS = {{'mine': Data()}}\n")
    words = ("plugins=signalling", "data.dataset=mine", f"run_dir={tmp_path / 'a'}")
    stopped = run.fails(code, *TINY, *words)
    told = ": it had not begun; the same command begins it\n"
    assert stopped.endswith(told)
    assert not (tmp_path / "a").exists()
