"""Measured times are remembered, failures and damaged files are not."""

import json
from pathlib import Path

import pytest
import torch

from seqkit.model.execution import Execution
from seqkit.training.kernel_times import measured_times

FIRST, SECOND, THIRD = (Execution(k, "fp16", 32) for k in ("layerwise", "stacked", "unrolled"))


class Stopwatch:
    """Times of its own making; it fails where it is told to, and counts what it is asked."""

    def __init__(self, times: dict[Execution, float], *failing: Execution) -> None:
        self.asked: list[Execution] = []
        self._times = times
        self._failing = failing

    def __call__(self, execution: Execution) -> float:
        self.asked.append(execution)
        if execution in self._failing:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return self._times[execution]


def measured(
    place: Path, stopwatch: Stopwatch, *executions: Execution, where: str = "here"
) -> dict[Execution, float]:
    return measured_times(list(executions), measure=stopwatch, place=place, circumstances=where)


TIMES = {FIRST: 2.0, SECOND: 1.5, THIRD: 9.0}


def test_what_was_measured_is_not_measured_again(tmp_path: Path) -> None:
    first, second, elsewhere = Stopwatch(TIMES), Stopwatch({}), Stopwatch(TIMES)
    place = tmp_path / "times.json"
    assert measured(place, first, FIRST, SECOND) == {FIRST: 2.0, SECOND: 1.5}
    assert measured(place, second, SECOND, FIRST) == {FIRST: 2.0, SECOND: 1.5}
    assert second.asked == []
    measured(place, elsewhere, FIRST, where="another GPU")
    assert elsewhere.asked == [FIRST]


def test_a_failure_is_not_remembered(tmp_path: Path) -> None:
    place = tmp_path / "times.json"
    assert measured(place, Stopwatch(TIMES, FIRST, SECOND), FIRST, SECOND) == {}
    assert not place.exists()
    assert measured(place, Stopwatch(TIMES, FIRST), FIRST, SECOND) == {SECOND: 1.5}
    again = Stopwatch(TIMES)
    assert measured(place, again, FIRST, SECOND) == {FIRST: 2.0, SECOND: 1.5}
    assert again.asked == [FIRST]


def test_a_new_candidate_alone_is_measured(tmp_path: Path) -> None:
    place = tmp_path / "times.json"
    measured(place, Stopwatch(TIMES), FIRST, SECOND)
    stopwatch = Stopwatch(TIMES)
    assert measured(place, stopwatch, FIRST, THIRD, SECOND) == TIMES
    assert stopwatch.asked == [THIRD]


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"[]",
        b"null",
        b'{"here": {"fp16, one call a layer, 32 lanes": 0.1}}',  # as 0.1.0 wrote it
        json.dumps(
            {"format": 1, "milliseconds": {"here": {json.dumps(FIRST.to_record()): 0.1}}}
        ).encode(),
        b'{"format": 2, "milliseconds": {"here": {"x": "y"}}}',
        b'{"format": 2, "milliseconds": {"here": [1]}}',
        b'{"format": 2}',
    ],
)
def test_a_file_of_another_format_counts_as_empty(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "times.json").write_bytes(content)
    assert measured(tmp_path / "times.json", Stopwatch(TIMES), FIRST) == {FIRST: 2.0}
    stopwatch = Stopwatch({})
    assert measured(tmp_path / "times.json", stopwatch, FIRST) == {FIRST: 2.0}


def test_times_that_cannot_be_written_still_count(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert measured(tmp_path / "file" / "times.json", Stopwatch(TIMES), FIRST) == {FIRST: 2.0}
