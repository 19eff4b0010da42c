"""The benchmark of the server has a line for each of its figures."""

import pytest

from benchmarks import play_speed
from tests.browser import needs_browser


@pytest.mark.thorough
@needs_browser
def test_every_figure_has_a_line() -> None:
    found = [*play_speed.lines([], rounds=1, seconds=0.5, clients=3)]
    assert len(found) == 7
    assert all(" ms (at most " in line for line in (*found[:4], found[5]))
