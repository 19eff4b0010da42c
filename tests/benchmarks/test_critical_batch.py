"""The critical batch: the fit finds what made the points, and a tiny measurement runs."""

import json
from pathlib import Path

import pytest

from benchmarks import critical_batch


def test_the_fit_finds_what_made_the_points() -> None:
    points = [(b, 700 * (1 + 180 / b)) for b in (16, 64, 256, 1024, 4096)]
    assert critical_batch.fitted(points) == pytest.approx((700, 180), rel=0.01)


def test_steps_are_between_two_validations() -> None:
    found = [(10, 3.0), (20, 2.0), (30, 1.0)]
    assert critical_batch.steps_to(found, 1.5) == 25
    assert critical_batch.steps_to(found, 3.5) == 10
    assert critical_batch.steps_to(found, 0.5) is None


@pytest.mark.thorough
def test_it_measures(text_file: Path) -> None:
    keys = (
        *(f"data.path={text_file}", "lanes=2,1,4,8", "targets=2.9,2.6", "device=cpu"),
        *("model.num_layers=1", "model.hidden_size=16", "train.sequence_length=8"),
        *("data.split=[0.9,0.1,0.0]", "train.precision=fp32", "share=0/1", "seconds=600"),
    )
    found = list(critical_batch.measure(keys))
    assert [own["lanes"] for own in found] == [2, 1, 4, 8]
    for own in found:
        first, last = own["steps"]
        assert 0 < first <= last
        assert last == min(steps for _, steps in own["tried"] if steps)
    lines = list(critical_batch.table(map(json.dumps, found)))
    assert [line[:4] for line in lines if line.startswith("to")] == ["to 2"] * 2
    assert len(lines) == 2 * 5
