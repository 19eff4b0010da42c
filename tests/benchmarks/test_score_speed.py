"""Every way to score has a speed and its share of evaluation's."""

import re

import pytest

from benchmarks import score_speed


@pytest.mark.thorough
def test_every_row_has_a_figure() -> None:
    small = ["model.hidden_size=16", "train.batch_size=4", "train.sequence_length=16", "device=cpu"]
    lines = score_speed.table(small, rounds=1, symbols=60_000).splitlines()
    rows = [re.split(r" {2,}", line) for line in lines]
    assert [row[0] for row in rows][:2] == ["evaluate", "score, lines"]
    assert len(rows) == 5
    assert rows[0][-1] == "1.00"
