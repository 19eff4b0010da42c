"""Every row is measured alone and beside busy programs."""

import re

import pytest

from benchmarks import busy_machine


@pytest.mark.thorough
def test_every_row_has_a_figure_in_every_column() -> None:
    small = ["model.hidden_size=16", "train.batch_size=4", "train.sequence_length=16"]
    lines = busy_machine.table(small, rounds=1, steps=12, symbols=600).splitlines()
    assert lines[0].split() == ["symbols/s", "alone", "beside", "1", "beside", lines[0].split()[-1]]
    rows = [re.split(r" {2,}", line) for line in lines[1:]]
    assert [row[0] for row in rows] == [
        *(
            "train, 1 document",
            "train, 85 documents",
            "evaluate, 1 document",
            "read a prompt",
            "generate, 1 stream",
        ),
    ]
    assert all(int(figure.replace(",", "")) > 0 for row in rows for figure in row[1:])
