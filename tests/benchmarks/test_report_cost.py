"""The report's share of a training is measured, and is a part of it."""

from pathlib import Path

from benchmarks.report_cost import cost
from tests.conftest import SMALL


def test_the_report_takes_some_of_the_time(text_file: Path) -> None:
    total, spent = cost([*SMALL, f"data.path={text_file}", "train.max_steps=5"])
    assert 0 < spent < 60
    assert total > 0
