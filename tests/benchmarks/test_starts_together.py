"""The measurement of trainings that are started at once runs."""

import pytest

from benchmarks import starts_together
from tests.conftest import TINY


@pytest.mark.thorough
def test_it_measures() -> None:
    found = starts_together.measured(2, 1, TINY, patience=120.0)
    assert len(found["alone"]) == 1
    assert [len(round_) for round_ in found["together"]] == [2]
    assert found["ratio"] > 0
