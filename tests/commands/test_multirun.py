"""A sweep tells what came of each run, stops no other for one that fails, and can be resumed."""

import contextlib
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.conftest import SENTENCE, TINY, Run, saved, spawn, summary_of, wait_for_steps
from tests.warm_python import module_path, python

_PROGRAM = "import sys; sys.executable = {!r}; from seqkit.__main__ import main; main()"


@pytest.fixture(autouse=True)
def _warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs need not wait for their imports."""
    monkeypatch.setattr(sys, "executable", python())
    monkeypatch.setenv("PYTHONPATH", module_path())


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "a b.txt").write_text(SENTENCE * 40)
    return f"data.path={tmp_path / 'a b.txt'}"


def sweep(folder: Path, *more: str) -> list[str]:
    """The command line of a sweep into a folder."""
    return ["--multirun", *TINY, f"run_dir={folder}", "train.max_steps=3", *more]


def ends(err: str) -> list[str]:
    """What is told of each job that ended, by its number."""
    return [line for _, line in sorted(re.findall(r"^\[(\d+)\] (?!begins)(.*)", err, re.M))]


@contextlib.contextmanager
def started(words: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """A sweep in a process of its own, which is ended with the block."""
    with spawn([python(), "-c", _PROGRAM.format(python()), *words]) as running:
        try:
            yield running
        finally:
            running.terminate()


def steps(run_dir: Path) -> int:
    return int(saved(run_dir).metrics["step"])


def test_jobs_run_one_after_the_other_and_the_same_line_runs_again_what_failed(
    run: Run, text: str, tmp_path: Path
) -> None:
    missing = tmp_path / "later.txt"
    words = sweep(tmp_path / "s", f"data.path={missing}", text, "length=20")
    done = run.fails(3, *words)
    summary = summary_of(tmp_path / "s" / "1")
    lost, first = ends(done)
    assert re.fullmatch(f"failed, exit code 3: .*{missing}.*", lost)
    assert first == f"finished, validation loss {summary['best_validation_loss']:.4f}: {text}"
    assert done.index("[0] failed") < done.index("[1] begins: ")
    assert "validation loss" in (tmp_path / "s" / "1.log").read_text()
    weights = (tmp_path / "s" / "1" / "checkpoints" / "last.safetensors").read_bytes()
    missing.write_text(SENTENCE * 30)
    again = run.ok(*words)
    assert [line[:8] for line in ends(again.err)] == ["finished"] * 2
    assert (tmp_path / "s" / "1" / "checkpoints" / "last.safetensors").read_bytes() == weights
    assert {one["outcome"] for one in run.json("compare", f"runs={tmp_path / 's'}/*")["runs"]} == {
        "finished"
    }


@pytest.mark.thorough
def test_after_ctrl_c_all_are_saved_and_the_line_that_is_told_goes_on(
    text: str, tmp_path: Path
) -> None:
    keys = (text, "seed=1,2,3", "train.max_steps=100000", "train.validate_every=0")
    with started(sweep(tmp_path / "it's", *keys)) as running:
        wait_for_steps(tmp_path / "it's" / "0", 1)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    assert running.returncode == 130, err
    assert [line[:7] for line in ends(err)] == ["stopped"]
    reached = steps(tmp_path / "it's" / "0")
    assert reached > 0
    with started(sweep(tmp_path / "it's", *keys, f"train.max_steps={reached + 5}")) as running:
        _, err = running.communicate()
    assert running.returncode == 0, err
    assert [line[:8] for line in ends(err)] == ["finished"] * 3
    assert f"going on at step {reached}:" in (tmp_path / "it's" / "0.log").read_text()


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have each job tell its GPU and its words, in place of a training."""
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho "$CUDA_VISIBLE_DEVICES|$*"; exit 4\n')
    python.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(python))


def test_each_of_several_jobs_gets_a_gpu(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand_in(tmp_path, monkeypatch)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5,GPU-8f2")
    keys = ["recipe=shakespeare", f"run_dir={tmp_path / 's'}", "launcher=local"]
    said = run.fails(4, "--multirun", *keys, "seed=1,2")
    assert said.count("failed, exit code 4") == 2
    logs = [(tmp_path / "s" / f"{number}.log").read_text().split("|") for number in (0, 1)]
    assert [log[0] for log in logs] == ["5", "GPU-8f2"]
    assert all("device=cuda" in log[1] and "resume=auto" in log[1] for log in logs)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 0)
    assert "there is none: leave it out" in run.fails(5, "--multirun", *keys, "seed=1,2")
