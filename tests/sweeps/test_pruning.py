"""A training that is a trial of a search scores what the other trials score."""

from pathlib import Path

import pytest

from seqkit.sweeps.jobs import PRUNES, SEARCH, TRIAL
from seqkit.sweeps.pruning import Pruning
from tests.sweeps.test_study import search


def trial(folder: Path, number: str, monkeypatch: pytest.MonkeyPatch, told: list[str]) -> Pruning:
    """What the process of a trial does, in this one."""
    monkeypatch.setenv(TRIAL, number)
    return Pruning(folder / number, told.append)


def test_all_trials_score_as_much_as_the_first_that_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    jobs = search(tmp_path)
    for _ in range(2):
        assert jobs.next()
    asked = ("1", 4096), ("0", 65536), ("1", 1024), ("2", 8192)
    found = [trial(tmp_path, name, monkeypatch, told).scored(time) for name, time in asked]
    assert (found, told) == ([4096] * 4, [])
    assert trial(tmp_path, "", monkeypatch, told).scored(7) == 7  # no trial of a search


@pytest.mark.parametrize("prune", [True, False])
def test_trials_know_whether_they_may_be_ended(tmp_path: Path, prune: bool) -> None:
    job = search(tmp_path, prune=prune).next()
    assert job
    assert job.environment == {TRIAL: "0"} | ({PRUNES: "true"} if prune else {})


def test_a_study_that_is_gone_is_told_once_and_ends_no_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    search(tmp_path)
    one = trial(tmp_path, "0", monkeypatch, told)
    (tmp_path / SEARCH).write_text("{")
    assert [one.scored(7), one.scored(8)] == [7, 8]
    (said,) = told
    assert said.startswith("the search hears nothing of this run: ")
