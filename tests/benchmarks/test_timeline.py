"""The parts of a training's time are told, and are all of it."""

from pathlib import Path

import pytest

from benchmarks.timeline import Clock, timeline
from tests.conftest import SMALL


def test_a_part_is_without_the_parts_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])

    def wait(seconds: float) -> None:
        now[0] += seconds

    clock = Clock(returned=90.0)
    inner = clock.timed("inner", wait)

    def both() -> None:
        wait(1)
        inner(2)
        inner(3)

    clock.timed("outer", both)()
    clock.timed("steps", wait)(4)
    clock.timed("steps", wait)(5)
    assert clock.parts == {
        "inner": [11.0, 5.0, 2],
        "outer": [10.0, 1.0, 1],
        "first step": [16.0, 4.0, 1],
        "steps": [20.0, 5.0, 1],
    }


@pytest.mark.thorough
def test_all_parts_of_a_training_are_found(text_file: Path, tmp_path: Path) -> None:
    words = ["recipe=shakespeare", *SMALL, f"data.path={text_file}", "train.max_steps=3"]
    parts = timeline(words, tmp_path, tmp_path / "cache")
    assert {"imports", "data", "first step", "validations", "report"} <= parts.keys()
    *rows, whole = [seconds for _, seconds, _ in parts.values()]
    assert sum(rows) == pytest.approx(whole)
    assert parts["first step"][2] == 1
    assert parts["steps"][2] == 2
