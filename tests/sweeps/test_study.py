"""A search repeats, goes on where it stood, and refuses to become another."""

import json
import os
from pathlib import Path

import pytest

from seqkit import compose
from seqkit.config import SearchConfig
from seqkit.foundation.errors import ConfigError, OutputError
from seqkit.sweeps import study
from seqkit.sweeps.jobs import SEARCH, Job
from seqkit.sweeps.study import TRIAL, Pruning, Search
from seqkit.training.events import Validated

RATES = "optimizer.lr=tag(log,interval(1e-4,1e-1))"
WORDS = ["recipe=shakespeare", RATES, "model.num_layers=1,2,3"]


def search(
    folder: Path,
    words: list[str] = WORDS,
    *,
    trials: int = 12,
    seed: int = 0,
    prune: bool = True,
) -> Search:
    folder.mkdir(exist_ok=True)
    space = compose.space(words, [])
    asked = SearchConfig(trials=trials, prune=prune)
    return Search(folder, space, lambda line: compose.compose(line, []), asked, seed)


def finish(job: Job, outcome: str = "finished") -> None:
    """Leave what a training with these settings would: a loss that depends on them."""
    config = job.composed.config
    loss = abs(config.optimizer.lr - 0.01) + config.model.num_layers
    job.files.path.mkdir()
    line = {"event": "validate", "step": 10, "seconds": 1.0, "loss": loss, "bits_per_symbol": 1.0}
    job.files.metrics.write_text(json.dumps(line) + "\n")
    job.outcome = outcome


def finish_all(one: Search) -> list[str]:
    """Run a search to its end; the settings that it chose."""
    while (job := one.next()) is not None:
        finish(job)
        one.tell(job)
    return [job.differing for job in one.jobs]


@pytest.mark.thorough
def test_a_search_repeats_and_goes_on_as_if_it_had_not_stopped(tmp_path: Path) -> None:
    chosen = finish_all(search(tmp_path / "whole"))
    assert len(set(chosen)) == 12
    assert finish_all(search(tmp_path / "again")) == chosen
    stopped = search(tmp_path / "stopped")
    for _ in range(10):
        job = stopped.next()
        assert job
        finish(job)
        stopped.tell(job)
    begun = stopped.next()  # and not ended
    again = search(tmp_path / "stopped")
    assert [job.outcome for job in again.jobs] == ["finished before"] * 10 + ["not started"]
    first = again.next()
    assert first and begun and (first.name, first.differing) == (begun.name, begun.differing)
    finish(first)
    again.tell(first)
    finish_all(again)
    assert [job.differing for job in again.jobs] == chosen
    assert finish_all(search(tmp_path / "other", seed=1)) != chosen


def test_more_trials_are_added_and_none_is_run_again(tmp_path: Path) -> None:
    finish_all(search(tmp_path, trials=3))
    assert search(tmp_path, trials=3).next() is None
    assert search(tmp_path, trials=2).next() is None
    more = search(tmp_path, trials=5)
    assert len(finish_all(more)) == 5


def test_pruned_and_diverged_trials_are_done_and_failed_ones_are_not(tmp_path: Path) -> None:
    one = search(tmp_path)
    for outcome, code in (("pruned", 0), ("failed, exit code 7", 7), ("failed, exit code 6", 6)):
        job = one.next()
        assert job
        finish(job, outcome)
        job.code = code
        one.tell(job)
    again = search(tmp_path)
    outcomes = [job.outcome for job in again.jobs]
    assert outcomes == ["pruned", "failed, exit code 7", "not started"]
    assert [job.code for job in again.jobs] == [0, 7, 0]
    first = again.next()
    assert first and first.name == "2"


def test_another_search_in_its_folder_is_refused(tmp_path: Path) -> None:
    search(tmp_path)
    with pytest.raises(ConfigError, match=r"another model\.num_layers, optimizer\.lr: give"):
        search(tmp_path, [WORDS[0], "optimizer.lr=interval(1e-4,1e-1)"])
    with pytest.raises(ConfigError, match="begun with another seed"):
        search(tmp_path, [*WORDS, "seed=3"])
    search(tmp_path, [*WORDS, f"run_dir={tmp_path}", "quiet=true", "overwrite=true"])


def test_half_a_line_of_a_study_is_cut_off(tmp_path: Path) -> None:
    file = tmp_path / "search.jsonl"
    search(tmp_path)
    whole = file.read_bytes()
    first = whole.partition(b"\n")[0]
    for left in (whole[:-1], whole[:-25], first[:7], b"", b"\0" * 300, first[:7] + b"\0" * 9):
        file.write_bytes(left)
        search(tmp_path)
        assert all(map(json.loads, file.read_text().splitlines()))


@pytest.mark.parametrize("content", [b'{"query": "a"}\n', b"op_code", b"\0mine"])
def test_a_file_that_is_no_study_is_left_as_it_is(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "search.jsonl").write_bytes(content)
    with pytest.raises(OutputError, match=r"search\.jsonl is no study of a search: move it away"):
        search(tmp_path)
    assert (tmp_path / "search.jsonl").read_bytes() == content


def test_a_lock_that_a_killed_process_left_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert search(Path("sweep"), trials=2).next()
    lock = tmp_path / "sweep" / "search.jsonl.lock"
    lock.touch()
    monkeypatch.setattr(study, "_LOCKED", 3)
    assert search(Path("sweep"), trials=2).next()
    assert not os.path.lexists(lock)


def test_a_study_that_is_gone_is_told_once_and_ends_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    search(tmp_path)
    monkeypatch.setenv(TRIAL, "0")
    trial = Pruning(tmp_path / "0", told.append)
    (tmp_path / SEARCH).write_text("{")
    for step in (1, 2):
        trial(Validated(step, 1.0, 2.0, 3.0, improved=True, best_loss=2.0))
    assert not trial.due
    (said,) = told
    assert said.startswith("the search hears nothing of this run: ")
