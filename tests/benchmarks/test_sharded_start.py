"""Shards that take no room on a disk are trained on, and measured."""

from pathlib import Path

import pytest

from benchmarks import sharded_start
from tests.conftest import SMALL


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux's /proc")
def test_both_rows_have_figures() -> None:
    keys = [key for key in SMALL if not key.startswith("device")]
    rows = sharded_start.table(3 << 26, keys).splitlines()
    assert [row.partition(":")[0] for row in rows] == ["1 MB of text", "0.201327 GB of shards"]
    assert all("first step after" in row and row.endswith(" MB") for row in rows)
