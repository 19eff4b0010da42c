"""Several trainings at once: they share a machine, fail alone, stop together and go on."""

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import seqkit
from seqkit.foundation.errors import ConfigError
from tests.commands.test_multirun import table
from tests.conftest import SENTENCE, TINY, Run, environment, saved, wait_for_steps
from tests.warm_python import python

_PROGRAM = "import sys; sys.executable = {!r}; from seqkit.__main__ import main; main()"


@pytest.fixture(autouse=True)
def _warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs of a sweep in this process need not wait for their imports."""
    monkeypatch.setattr(sys, "executable", python())


@pytest.fixture
def text(tmp_path: Path) -> str:
    (tmp_path / "text.txt").write_text(SENTENCE * 40)
    return f"data.path={tmp_path / 'text.txt'}"


def side_by_side(folder: Path, *more: str) -> list[str]:
    return ["--multirun", *TINY, f"run_dir={folder}", "launcher=local", *more]


@contextlib.contextmanager
def started(words: Sequence[str]) -> Iterator["subprocess.Popen[str]"]:
    """A sweep in a process of its own, which is ended with the block."""
    with subprocess.Popen(
        [python(), "-c", _PROGRAM.format(python()), *words], env=environment(), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as running:  # fmt: skip
        try:
            yield running
        finally:
            running.terminate()


def owner(run_dir: Path) -> int:
    """The process that trains in a folder."""
    return int(json.loads((run_dir / ".lock").read_text())["pid"])


def steps(run_dir: Path) -> int:
    return int(saved(run_dir).metrics["step"])


@pytest.mark.thorough
def test_a_job_that_fails_ends_no_other_and_the_same_line_runs_it_alone_again(
    run: Run, text: str, tmp_path: Path
) -> None:
    missing = tmp_path / "later.txt"
    words = side_by_side(
        tmp_path / "s", "jobs=2", "train.max_steps=3", f"data.path={missing}", text
    )
    done = run(*words, "seed=1,2")
    assert (done.code, done.out) == (3, b""), done.err
    rows = table(done.err)
    assert [row[3] for row in rows] == ["failed, exit code 3", "finished"] * 2
    assert rows[1][4] == f"seed=1 {text}"
    assert re.search(rf"^\[0\] failed: .*{missing}", done.err, re.M)
    for number in "0123":
        assert f"\n[{number}] begins: " in done.err
    assert "\n[3] finished, validation loss " in done.err
    assert "validation loss" in (tmp_path / "s" / "3.log").read_text()
    missing.write_text(SENTENCE * 30)
    before = (tmp_path / "s" / "1" / "summary.json").read_bytes()
    again = run(*words, "seed=1,2")
    assert (again.code, [row[3] for row in table(again.err)]) == (
        0,
        ["finished", "finished before"] * 2,
    )
    assert "[1] begins" not in again.err
    assert (tmp_path / "s" / "1" / "summary.json").read_bytes() == before
    compared = run("compare", f"runs={tmp_path / 's'}/*", "json=true")
    assert {one["outcome"] for one in json.loads(compared.out)["runs"]} == {"finished"}


@pytest.mark.thorough
def test_after_ctrl_c_all_are_saved_and_the_line_that_is_told_goes_on(
    text: str, tmp_path: Path
) -> None:
    keys = (text, "seed=1,2,3,4,5", "jobs=4", "train.max_steps=100000", "train.validate_every=0")
    with started(side_by_side(tmp_path / "it's", *keys)) as running:
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
    done = subprocess.run(
        ["bash", "-c", f'{python()} -c "{program}" {line} {more}'],
        env=environment(), capture_output=True, text=True, check=False,
    )  # fmt: skip
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
    words = side_by_side(tmp_path / "s", *keys)
    with started(words) as running:
        for number in "01":
            wait_for_steps(tmp_path / "s" / number, 1)
        refused = run(*words)
        assert (refused.code, refused.err.count("\n")) == (6, 1)
        assert "another training writes to this folder: process " in refused.err
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
    words = side_by_side(tmp_path / "s", *keys)
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
        ([*TINY, "launcher=local", "seed=1,2"], "how many jobs at once? give gpus=N"),
        ([*TINY, "launcher=local", "jobs=2", "gpus=2"], "give one of them"),
        ([*TINY, "launcher=locl", "jobs=2"], "did you mean local?"),
        ([*TINY, "launchr=local", "jobs=2"], "did you mean launcher?"),
        ([*TINY, "launcher=local,slurm", "jobs=2"], "launcher: a sweep takes one value of it"),
        ([*TINY, "launcher=local", "job=2"], "did you mean jobs?"),
        ([*TINY, "launcher=local", "jobs=0"], "at least 1"),
        ([*TINY, "launcher=local", "gpus=1"], "device=cpu: gpus= gives each job a GPU"),
        ([*TINY, "jobs=2"], "jobs=2: give launcher=local"),
        ([*TINY, "launcher=local", "jobs=2", "launcher.minutes=5"], "a key of launcher=slurm"),
        ([*TINY, "launcher=local", "jobs=2", "model.num_layer=1,2"], "mean model.num_layers?"),
        ([*TINY, "launcher=local", "jobs=2", "model.dropout=0.1,7"], "at most 0.95"),
        ([*TINY, "launcher=slurm", "jobs=2"], "no Slurm on this machine"),
        ([*TINY, "search.trials=3", "seed=1,2"], "search.trials: a key of search=optuna"),
        ([*TINY, "optimizer.lr=interval(1e-4,1)"], "an interval needs search=optuna"),
        ([*_SEARCH], "search=optuna: no key to search"),
        ([*_SEARCH, "search.trails=3", "seed=1,2"], "did you mean search.trials?"),
        ([*_SEARCH, "optimizer.lr=interval(1,1e-4)"], "give the smaller number first"),
        ([*_SEARCH, "optimizer.lr=interval(-1,1)"], "give a value above 0"),
        ([*_SEARCH, "model.num_layers=interval(0.5,3)"], "give a whole number"),
        ([*_SEARCH, "data.levels=64,256"], "losses on other data cannot be compared"),
        ([*_SEARCH, "data.channels=1,2"], "data.channels=2: losses on other data"),
        ([*_SEARCH, "data=text,bytes"], "data=bytes: losses on other data"),
        (["recipe=shakespeare,my_sound", _SEARCH[1]], "recipe=my_sound: losses on other data"),
        ([*_SEARCH, "seed=1,2", "data.path=a", "data.path=b"], "give a file or folder"),
    ],
)
def test_all_is_checked_before_the_first_job(
    words: list[str], said: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run("--multirun", *words)
    assert (refused.code, said in refused.err) == (2, True), refused.err
    assert refused.err.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("keys", [["launcher=local", "jobs=2"], ["search=optuna"]])
def test_a_file_in_the_place_of_the_sweeps_folder_is_named(
    keys: list[str], run: Run, text: str, tmp_path: Path
) -> None:
    refused = run("--multirun", *TINY, *keys, "seed=1,2", text, f"run_dir={text[10:]}")
    assert (refused.code, refused.err.count("\n")) == (6, 1)
    assert "text.txt is a file, not a folder" in refused.err


@pytest.mark.parametrize("word", ["launcher=local", "jobs=2", "search=optuna", "search.trials=2"])
def test_one_training_has_no_use_for_the_keys_of_many(word: str, run: Run) -> None:
    refused = run(*TINY, word)
    assert (refused.code, f"{word}: a key of --multirun" in refused.err) == (2, True), refused.err
    with pytest.raises(ConfigError, match="a key of --multirun"):
        seqkit.train("shakespeare", word)
