"""The measurement of a training's start runs."""

from pathlib import Path

import pytest

from benchmarks import first_step
from tests.conftest import TINY


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="no /proc")
def test_it_measures(tmp_path: Path) -> None:
    found = list(first_step.measured(0.01, TINY, tmp_path))
    assert [own["start"] for own in found] == ["first", "again", "cold"]
    for own in found:
        assert own["seconds"] > 0
        assert own["resident_mb"] >= own["anonymous_mb"] > 0
        assert (tmp_path / own["start"] / "metrics.jsonl").stat().st_size > 0
