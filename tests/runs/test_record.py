"""A run is read as far as it can be, whatever has become of its folder."""

import shutil
from pathlib import Path

import pytest

from seqkit.runs.record import read, read_metrics
from tests.conftest import summary_of


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A copy of a finished run that may be damaged."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def test_a_finished_run(trained: Path) -> None:
    record = read(trained)
    summary = summary_of(trained)
    assert record.problems == []
    assert record.state == "finished"
    assert record.best == (summary["best_step"], summary["best_validation_loss"])
    assert record.metrics.step == summary["steps"]
    assert record.seconds == summary["elapsed_seconds"]
    assert record.number("parameters") == summary["parameters"]
    assert summary["data"].items() <= record.facts["data"].items()
    assert record.keys["model.hidden_size"] == 24


def test_a_run_that_has_not_finished(trained: Path, copy: Path) -> None:
    finished = read(trained)
    (copy / "summary.json").unlink()
    record = read(copy)
    assert (record.state, record.problems) == ("ended", [])
    assert record.number("parameters") == finished.number("parameters")
    assert record.seconds == record.metrics.seconds > 0


def test_damaged_files_are_told_and_the_rest_is_read(copy: Path) -> None:
    metrics, before = copy / "metrics.jsonl", read(copy).metrics
    lines = metrics.read_text().splitlines()
    odd = [
        "[]",
        '{"event": "train"}',
        '{"event": "validate", "step": 1, "seconds": 1, "loss": NaN}',
    ]
    metrics.write_text("\n".join([*lines, *odd, lines[-1][:20]]))
    (copy / "summary.json").write_text("{")
    record = read(copy)
    assert len(record.metrics.train.steps) == len(before.train.steps) > 0
    assert [problem.partition(":")[0] for problem in record.problems] == [
        str(metrics),
        str(copy / "summary.json"),
    ]
    assert f"4 of {len(lines) + 4} lines" in record.problems[0]
    assert record.state == "ended"
    assert record.text("data", "sha256")


def test_losses_over_other_symbols_than_the_last_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    lines = [(10, 1.0, 64), (20, 2.0, 128), (30, 1.9, 128)]
    file.write_text(
        "".join(
            f'{{"event": "validate", "step": {step}, "loss": {loss}, "scored": {scored}, '
            '"total": 256}\n'
            for step, loss, scored in lines
        )
    )
    found = read_metrics(file, [])
    assert found.validation.values.tolist() == [2.0, 1.9]
    assert found.step == 30
