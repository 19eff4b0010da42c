"""Every engine has figures of text, and of sound with its codes."""

import pytest

from benchmarks import engine_speed


@pytest.mark.thorough
def test_every_engine_has_figures() -> None:
    small = ["model.hidden_size=16", "train.batch_size=4", "train.sequence_length=160"]
    rows = list(engine_speed.lines(small, rounds=2, symbols=200))
    assert [row.split()[0] for row in rows] == ["text,"] * 4 + ["sound,"] * 4
    assert all("us of CPU" in row for row in rows)
    assert [row.endswith("x") for row in rows] == [False] * 4 + [True] * 4
