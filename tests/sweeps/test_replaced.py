"""No run is removed before the one that replaces it has begun, whenever a sweep is killed."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seqkit.foundation import disk
from seqkit.foundation.checkpoint_files import MARK
from seqkit.foundation.errors import OutputError
from seqkit.runs.folder import RunFolder
from seqkit.runs.layout import REPLACED, RunFiles, runs_below
from seqkit.sweeps import replaced
from seqkit.sweeps.jobs import SEARCH
from tests.commands.test_multirun import table
from tests.commands.test_sweep_in_processes import owner
from tests.conftest import SENTENCE, TINY, Run, environment, wait_for_steps
from tests.warm_python import python


class Killed(BaseException):
    """The end of a process, in the place of a rename."""


def content(folder: Path) -> dict[str, bytes]:
    """All files of a sweep's folder but for locks and logs."""
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != ".lock"]
    return {str(file.relative_to(folder)): file.read_bytes() for file in files}


def leave(run: Path, what: bytes = MARK + b" old") -> None:
    """What a run leaves, and a file of the user's beside it."""
    files = RunFiles(run)
    for file in (files.checkpoint("last"), files.checkpoint("best"), files.sample("final.wav")):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(what)
    (run / "config.yaml").write_bytes(what)
    (run / "mine.txt").write_bytes(b"mine")


@pytest.fixture
def old(tmp_path: Path) -> dict[str, bytes]:
    """A search of three runs in tmp_path / "s", the last without its config.yaml: its content."""
    for name in "012":
        leave(tmp_path / "s" / name)
    (tmp_path / "s" / "2" / "config.yaml").unlink()
    (tmp_path / "s" / SEARCH).write_bytes(b'{"op_code":0}\n')
    return content(tmp_path / "s")


def killed_at(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the process end in the place of this rename, and do nothing afterwards."""
    real, left = disk.rename, [number]

    def rename(source: Path, target: Path) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        real(source, target)

    monkeypatch.setattr(disk, "rename", rename)


def kill_everywhere(act: Callable[[], None], then: Callable[[], None]) -> int:
    """Kill `act` at its first rename, its second …, until it ends; `then` looks."""
    number = 0
    while True:
        with pytest.MonkeyPatch.context() as patch:
            killed_at(number, patch)
            try:
                act()
                return number
            except Killed:
                pass
        then()
        number += 1


def test_a_sweep_that_is_killed_before_its_first_job_has_changed_nothing(
    old: dict[str, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "s"

    def back() -> None:
        replaced.undo_unfinished(folder)
        replaced.settle_begun(folder)
        assert content(folder) == old

    act = functools.partial(replaced.set_aside, folder, range(9))
    assert kill_everywhere(act, back) == 13
    assert {*content(folder)} == {
        *(f"{name}/mine.txt" for name in "012"),
        *(f"{REPLACED}/{name}" for name in old if not name.endswith("mine.txt")),
    }
    assert runs_below(folder) == []
    RunFolder(folder / "1").check_no_others()  # its run may go there, beside the user's file


def test_what_did_not_begin_is_moved_back_whenever_that_is_killed(
    old: dict[str, bytes], tmp_path: Path
) -> None:
    folder, told = tmp_path / "s", list[str]()
    replaced.set_aside(folder, range(3))
    (folder / "1" / "config.yaml").write_bytes(b"new")
    (folder / SEARCH).write_bytes(b"new")
    assert replaced.settle_begun(folder) == ["0", "2"]
    assert not (folder / REPLACED / "1").exists()
    kill_everywhere(lambda: replaced.put_in_place(folder, told.append), lambda: None)
    kept = {name: what for name, what in old.items() if name[0] != "1"}
    new = {"1/config.yaml": b"new", "1/mine.txt": b"mine", SEARCH: b"new"}
    assert content(folder) == kept | new
    assert {f"{folder / name}: the earlier run is kept, since the new one" for name in "02"} == {
        said.partition(" did not")[0] for said in told
    }
    assert not (folder / REPLACED).exists()


def test_a_search_is_moved_back_if_none_of_the_new_runs_began(
    old: dict[str, bytes], tmp_path: Path
) -> None:
    folder = tmp_path / "s"
    replaced.set_aside(folder, range(3))
    (folder / SEARCH).write_bytes(b"new")
    replaced.settle(folder / "0", lambda said: None)
    replaced.settle(folder / "3", lambda said: None)
    act = functools.partial(replaced.put_in_place, folder, lambda said: None)
    assert kill_everywhere(act, lambda: None) > 0
    assert content(folder) == old
    replaced.set_aside(folder, range(3))
    leave(folder / "3")  # a run that replaces none
    (folder / SEARCH).write_bytes(b"new")
    replaced.settle(folder / "3", lambda said: None)
    replaced.put_in_place(folder, lambda said: None)
    assert (folder / SEARCH).read_bytes() == b"new"


def test_a_file_that_is_no_study_is_not_moved(old: dict[str, bytes], tmp_path: Path) -> None:
    (tmp_path / "s" / SEARCH).write_bytes(b'{"query": "a"}\n')
    replaced.set_aside(tmp_path / "s", range(3))
    assert (tmp_path / "s" / SEARCH).read_bytes() == b'{"query": "a"}\n'


def test_a_run_that_cannot_be_moved_leaves_all_in_place(
    old: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, real = tmp_path / "s", disk.rename

    def rename(source: Path, target: Path) -> None:
        if target.match(".replacing/1/*/last.safetensors"):
            raise OutputError(f"cannot write {target}: no")
        real(source, target)

    monkeypatch.setattr(disk, "rename", rename)
    with pytest.raises(OutputError, match="no: the runs there stay: give another run_dir"):
        replaced.set_aside(folder, range(3))
    assert content(folder) == old


@pytest.fixture(autouse=True)
def _warm(monkeypatch: pytest.MonkeyPatch) -> None:
    """The jobs of a sweep in this process need not wait for their imports."""
    monkeypatch.setattr(sys, "executable", python())


@pytest.fixture
def words(tmp_path: Path, run: Run) -> list[str]:
    """The command line of a sweep that ran before; the user's file lies beside its first run."""
    (tmp_path / "text.txt").write_text(SENTENCE * 40)
    (tmp_path / "short.txt").write_text("abcdefgh" * 2)
    words = ["--multirun", *TINY, f"run_dir={tmp_path / 's'}", "seed=1,2", "train.max_steps=2"]
    assert run(*words, f"data.path={tmp_path / 'text.txt'}").code == 0
    (tmp_path / "s" / "0" / "mine.txt").write_text("mine")
    return words


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("how", [[], ["launcher=local", "jobs=2"]])
@pytest.mark.parametrize(
    ("data", "more", "code"),
    [("short.txt", [], 3), ("text.txt", ["model.hidden_size=100000"], 5)],
)
def test_runs_stay_whose_jobs_cannot_begin(
    data: str,
    more: list[str],
    code: int,
    how: list[str],
    words: list[str],
    run: Run,
    tmp_path: Path,
) -> None:
    folder = tmp_path / "s"
    before = content(folder)
    failed = run(*words, f"data.path={tmp_path / data}", *more, *how, "overwrite=true")
    assert failed.code == code, failed.err
    assert failed.err.count("the earlier run is kept, since the new one did not begin") == 2
    after = content(folder)
    assert {name: after.get(name) for name in before} == before
    assert not (folder / REPLACED).exists()


@pytest.mark.thorough(keep=1)
@pytest.mark.parametrize("how", [[], ["launcher=local", "jobs=1"]])
def test_a_run_that_cannot_be_moved_back_stops_no_other_job(
    how: list[str], words: list[str], run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, real = tmp_path / "s", disk.rename

    def rename(source: Path, target: Path) -> None:
        if source.match(f"{REPLACED}/0/config.yaml"):
            raise OutputError(f"cannot write {target}: no")
        real(source, target)

    monkeypatch.setattr(disk, "rename", rename)
    failed = run(*words, f"data.path={tmp_path / 'short.txt'}", *how, "overwrite=true")
    assert failed.code == 6, failed.err
    assert f"\n[0] cannot write {folder / '0' / 'config.yaml'}: no\n" in failed.err
    assert [row[3] for row in table(failed.err)] == ["failed, exit code 3"] * 2
    assert (folder / "1" / "config.yaml").exists()
    assert (folder / REPLACED / "0" / "config.yaml").exists()


def test_another_sweep_into_the_folder_of_one_in_its_own_process_is_refused(
    words: list[str], run: Run, tmp_path: Path
) -> None:
    folder, data = tmp_path / "s", f"data.path={tmp_path / 'text.txt'}"
    with subprocess.Popen(
        [python(), "-m", "seqkit", *words, data, "overwrite=true", "train.max_steps=1000000"],
        env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as sweep:  # fmt: skip
        wait_for_steps(folder / "0", 10)
        training = owner(folder / "0")
        refused = run(*words, data)
        sweep.kill()
    said = f"run_dir={folder}: another training writes to this folder: process {training} on "
    assert (refused.code, said in refused.err, refused.err.count("\n")) == (6, True, 1)
    assert (folder / REPLACED / "1" / "config.yaml").exists()


@pytest.mark.thorough
def test_a_search_stays_whose_jobs_cannot_begin(words: list[str], run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    search = [*words, "search=optuna", "search.trials=2", "overwrite=true"]
    assert run(*search, f"data.path={tmp_path / 'text.txt'}").code == 0
    (folder / "0.log").unlink()
    before = {name: what for name, what in content(folder).items() if not name.endswith(".log")}
    assert SEARCH in before
    failed = run(*search, f"data.path={tmp_path / 'short.txt'}")
    assert failed.code == 3, failed.err
    assert {name: content(folder).get(name) for name in before} == before
    (folder / "0.log").unlink()
    (folder / "0.log").mkdir()
    failed = run(*search, f"data.path={tmp_path / 'text.txt'}")
    assert (failed.code, "0.log: is a directory" in failed.err) == (6, True), failed.err
    assert {name: content(folder).get(name) for name in before} == before


def test_a_search_is_not_gone_on_with_after_a_sweep_has_replaced_its_runs(
    words: list[str], run: Run, tmp_path: Path
) -> None:
    data = f"data.path={tmp_path / 'text.txt'}"
    search = [*words, data, "search=optuna", "search.trials=2"]
    assert run(*search, "overwrite=true").code == 0
    assert (tmp_path / "s" / SEARCH).exists()
    assert run(*words, data, "optimizer.lr=0.002", "overwrite=true").code == 0
    assert not (tmp_path / "s" / SEARCH).exists()
    refused = run(*search)
    assert refused.code == 2, refused.err
    assert f"differs from the run in {tmp_path / 's' / '0'}: " in refused.err


def test_runs_stay_where_no_job_can_be_started(words: list[str], run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "s"
    (folder / "0.log").mkdir()
    before = content(folder)
    data = f"data.path={tmp_path / 'text.txt'}"
    failed = run(*words, data, "launcher=local", "jobs=1", "overwrite=true")
    assert (failed.code, "0.log: is a directory" in failed.err) == (6, True), failed.err
    assert content(folder) == before


@pytest.mark.parametrize(
    "how", [[], pytest.param(["launcher=local", "jobs=1"], marks=pytest.mark.thorough)]
)
def test_after_a_kill_a_sweep_goes_on_and_says_what_it_removes(
    how: list[str], words: list[str], run: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "s"
    before = content(folder)
    other = [*words, f"data.path={tmp_path / 'text.txt'}", "optimizer.lr=0.002", *how]
    with subprocess.Popen(
        [python(), "-m", "seqkit", *other, "overwrite=true", "train.max_steps=1000000"],
        env=environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    ) as sweep:  # fmt: skip
        wait_for_steps(folder / "0", 10)
        training = owner(folder / "0")
        sweep.send_signal(signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):  # it is another with launcher=local alone
            os.kill(training, signal.SIGKILL)
    aside = {name: what for name, what in before.items() if name.startswith("1/")}
    kept = content(folder / REPLACED)
    assert {name: kept.get(name) for name in aside} == aside
    done = run(*other, "resume=auto", "train.max_steps=1")
    assert done.code == 0, done.err
    said = f"{folder / REPLACED} has the earlier runs 1, which overwrite=true was to replace"
    assert said in done.err
    assert not (folder / REPLACED).exists()
    assert (folder / "0" / "mine.txt").read_text() == "mine"
    assert all("lr: 0.002" in (folder / name / "config.yaml").read_text() for name in "01")
