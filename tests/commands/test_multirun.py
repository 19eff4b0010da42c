"""A sweep tells what came of each run, stops no other for one that fails, and can be resumed."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from seqkit.commands import multirun
from seqkit.commands.multirun import planned
from tests.conftest import SENTENCE, TINY, Run, completed, saved, spawn, summary_of, wait_for_steps
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


def table(err: str) -> list[list[str]]:
    """The rows of the table, by cells."""
    _, _, rows = err.partition("=== multirun: the whole sweep ===\n")
    lines = [line for line in rows.splitlines() if re.match(r"\d+ ", line)]
    return [re.split("  +", line) for line in lines]


@contextlib.contextmanager
def started(words: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """A sweep in a process of its own, which is ended with the block."""
    with spawn([python(), "-c", _PROGRAM.format(python()), *words]) as running:
        try:
            yield running
        finally:
            running.terminate()


def owner(run_dir: Path) -> int:
    """The process that trains in a folder, whose lock it holds."""
    lock = (run_dir / ".lock").stat().st_ino
    for line in Path("/proc/locks").read_text().splitlines():
        *_, process, file, _, _ = line.split()
        if file.endswith(f":{lock}"):
            return int(process)
    raise AssertionError("nobody holds the lock")


def steps(run_dir: Path) -> int:
    return int(saved(run_dir).metrics["step"])


def test_jobs_run_one_after_the_other_and_the_same_line_runs_again_what_failed(
    run: Run, text: str, tmp_path: Path
) -> None:
    missing = tmp_path / "later.txt"
    words = sweep(tmp_path / "s", f"data.path={missing}", text, "length=20")
    done = run.fails(3, *words)
    lost, first = table(done)
    summary = summary_of(tmp_path / "s" / "1")
    assert lost == ["0", "-", "-", "failed, exit code 3", f"data.path={missing}"]
    assert first[:2] == ["1", f"{summary['best_validation_loss']:.4f}"]
    assert re.fullmatch(r"\d+:\d\d", first[2])
    assert first[3:] == ["finished", text]
    assert re.search(rf"^\[0\] failed: .*{missing}", done, re.M)
    assert done.index("[0] failed") < done.index("[1] begins: ")
    log = (tmp_path / "s" / "1.log").read_text()
    assert "validation loss" in log
    missing.write_text(SENTENCE * 30)
    again = run.ok(*words)
    assert [row[3] for row in table(again.err)] == ["finished", "finished before"]
    assert "[1] begins" not in again.err
    assert (tmp_path / "s" / "1.log").read_text() == log
    assert {one["outcome"] for one in run.json("compare", f"runs={tmp_path / 's'}/*")["runs"]} == {
        "finished"
    }


@pytest.mark.parametrize("word", ["overwrite=true", "resume=never"])
def test_a_folder_that_holds_runs_is_not_begun_anew(
    word: str, run: Run, trained: Path, text: str, tmp_path: Path
) -> None:
    (tmp_path / "s").mkdir()
    (tmp_path / "s" / "0").symlink_to(trained)
    before = {file: file.read_bytes() for file in trained.rglob("*") if file.is_file()}
    refused = run.fails_in_a_line(6, *sweep(tmp_path / "s", text, "seed=1,2", word))
    assert "give another run_dir" in refused
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.thorough
def test_a_job_imports_nothing_from_the_working_folder(
    run: Run, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("PYTHONPATH", module_path())
    stranger = tmp_path / "stranger"
    stranger.mkdir()
    (stranger / "numpy.py").write_text("raise SystemExit('a stranger's module')")
    monkeypatch.chdir(stranger)
    done = run(*sweep(tmp_path / "s", text, "seed=1"))
    assert done.code == 0, done.err + (tmp_path / "s" / "0.log").read_text()


@pytest.mark.thorough
def test_after_ctrl_c_all_are_saved_and_the_line_that_is_told_goes_on(
    text: str, tmp_path: Path
) -> None:
    keys = (text, "seed=1,2,3,4,5", "jobs=4", "train.max_steps=100000", "train.validate_every=0")
    with started(sweep(tmp_path / "it's", "launcher=local", *keys)) as running:
        for number in "0123":
            wait_for_steps(tmp_path / "it's" / number, 1)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    assert running.returncode == 130, err
    assert [row[3] for row in table(err)] == ["stopped"] * 4 + ["not started"]
    assert "SIGINT: 4 jobs asked to save and end" in err
    reached = [steps(tmp_path / "it's" / number) for number in "0123"]
    assert min(reached) > 0
    line = err.splitlines()[-1].partition("go on with the whole sweep: python -m seqkit ")[2]
    program = _PROGRAM.format(python())
    more = f"train.max_steps={max(reached) + 5}"
    done = completed(["bash", "-c", f'{python()} -c "{program}" {line} {more}'])
    assert done.returncode == 0, done.stderr
    assert [row[3] for row in table(done.stderr)] == ["finished"] * 5
    for number in "0123":
        said = (tmp_path / "it's" / f"{number}.log").read_text()
        assert f"going on at step {reached[int(number)]}:" in said


@pytest.mark.thorough
def test_a_killed_job_is_named_and_another_sweep_into_the_folder_refused(
    run: Run, text: str, tmp_path: Path
) -> None:
    keys = (text, "seed=1,2", "jobs=2", "train.max_steps=100000", "train.validate_every=0")
    words = sweep(tmp_path / "s", "launcher=local", *keys)
    with started(words) as running:
        for number in "01":
            wait_for_steps(tmp_path / "s" / number, 1)
        assert "another training writes to this folder" in run.fails_in_a_line(6, *words)
        os.kill(owner(tmp_path / "s" / "0"), signal.SIGKILL)
        assert running.stderr
        said = ""
        while not said.startswith("[0] failed: "):
            said = running.stderr.readline()
            assert said, "the sweep ended"
        assert "killed by SIGKILL" in said
        running.send_signal(signal.SIGTERM)
        _, err = running.communicate()
    assert running.returncode == 75, err
    assert [row[3] for row in table(err)] == ["failed, exit code 5", "stopped"]


def test_a_job_whose_sweep_was_killed_is_waited_for(text: str, tmp_path: Path) -> None:
    keys = (text, "jobs=2", "train.max_steps=100000", "train.validate_every=0")
    words = sweep(tmp_path / "s", "launcher=local", *keys)
    run_dir = tmp_path / "s" / "0"
    with started(words) as first:
        wait_for_steps(run_dir, 1)
        first.kill()
    orphan = owner(run_dir)
    with started(words) as second:
        assert second.stderr
        said = ""
        while not said.startswith("[0] another process trains"):
            said = second.stderr.readline()
            assert said, "the sweep ended"
        os.kill(orphan, signal.SIGTERM)
        while not said.startswith("[0] begins"):
            said = second.stderr.readline()
            assert said, "the sweep ended"
        second.send_signal(signal.SIGTERM)
        _, err = second.communicate()
    assert second.returncode == 75, err
    assert [row[3] for row in table(err)] == ["stopped"]


_SEARCH = ("recipe=shakespeare", "search=optuna")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([*TINY, "launcher=locl", "jobs=2"], "did you mean local?"),
        ([*TINY, "jobs=2"], "several jobs at once: give launcher=local"),
        ([*TINY, "launcher=local", "gpus=1"], "device=cpu: gpus= gives each job a GPU"),
        ([*TINY, "launcher=local", "jobs=2", "model.num_layer=1,2"], "mean model.num_layers?"),
        ([*TINY, "launcher=local", "jobs=2", "model.dropout=0.1,7"], "at most 0.95"),
        ([*TINY, "launcher=slurm", "jobs=2"], "no Slurm on this machine"),
        ([*TINY, "optimizer.lr=interval(1e-4,1)"], "an interval needs search=optuna"),
        ([*_SEARCH], "search=optuna: no key to search"),
        ([*_SEARCH, "optimizer.lr=interval(1,1e-4)"], "give the smaller number first"),
        ([*_SEARCH, "optimizer.lr=interval(-1,1)"], "give a value above 0"),
        ([*_SEARCH, "model.num_layers=interval(0.5,3)"], "num_layers=0.5: expected a whole number"),
        ([*_SEARCH, "data.levels=64,256"], "losses on other data cannot be compared"),
        (["recipe=shakespeare", "resume=auto", "seed=1,2"], "give run_dir=FOLDER, the sweep"),
        (["run_dir=s", "resume=auto", "seed=1,2"], "no recipe: a sweep needs one"),
        ([*TINY, "data.path=-", "seed=1,2"], "data.path=-: a sweep reads it several times"),
    ],
)
def test_all_is_checked_before_the_first_job(
    words: list[str], said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert said in run.fails_in_a_line(2, "--multirun", *words)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("keys", "told", "threads"),
    [
        (("jobs=4", "seed=1,2,3,4"), None, 4),
        (("jobs=2", "seed=1"), None, None),
        (("jobs=2", "seed=1,2"), "3", None),
    ],
)
def test_cores_are_shared_out_unless_the_user_says_otherwise(
    keys: tuple[str, ...], told: str | None, threads: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("seqkit.foundation.machine.own_cores", lambda: 16)
    monkeypatch.delenv("OMP_NUM_THREADS")
    if told:
        monkeypatch.setenv("OMP_NUM_THREADS", told)
    plan = planned(["recipe=shakespeare", "launcher=local", *keys], [])
    assert multirun._launcher(plan, []).threads == threads
