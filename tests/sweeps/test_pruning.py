"""A training that is a trial of a search may be ended by it."""

from pathlib import Path

import pytest

from seqkit.sweeps.jobs import PRUNES, SEARCH, TRIAL
from seqkit.sweeps.pruning import Pruning
from seqkit.training.events import Validated
from tests.sweeps.test_study import search


def trial(folder: Path, number: str, monkeypatch: pytest.MonkeyPatch, told: list[str]) -> Pruning:
    """What the process of a trial does, in this one."""
    monkeypatch.setenv(TRIAL, number)
    return Pruning(folder / number, told.append)


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
    monkeypatch.setenv(PRUNES, "true")
    one = trial(tmp_path, "0", monkeypatch, told)
    (tmp_path / SEARCH).write_text("{")
    for step in (1, 2):
        one(Validated(step, 1.0, 2.0, 3.0, improved=True, best_loss=2.0))
    assert not one.due
    (said,) = told
    assert said.startswith("the search hears nothing of this run: ")
