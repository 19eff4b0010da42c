"""A training is told once that it stands badly."""

import dataclasses
from pathlib import Path

from seqkit.report.warnings import Warnings
from seqkit.runs.events import Finished
from seqkit.training.events import Validated
from tests.report.conftest import Leave

VALIDATED = Validated(1000, 1.0, 2.2, 2.2 / 0.6931, improved=False, best_loss=1.7)


def test_what_gets_worse_is_told_at_once_and_not_again(leave: Leave) -> None:
    run, told = leave([2.0, 1.0], [1.8, 1.7, 2.2], finished=False), list[str]()
    follow = Warnings(run, told.append)
    follow(dataclasses.replace(VALIDATED, improved=True))
    assert not told
    follow(VALIDATED)
    follow(dataclasses.replace(VALIDATED, step=3000))
    follow(Finished(3000, 1.0, 1.7, Path("run")))
    (said,) = told
    assert said.startswith("It got worse after step 666")
