"""A run is read as far as it can be, whatever has become of its folder."""

import dataclasses
import json
import os
import re
import shutil
from copy import deepcopy
from pathlib import Path

import pytest

from seqkit.runs.record import read
from tests.conftest import EARLIER_RUNS, Run


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A copy of a finished run that may be damaged."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def test_a_finished_run(trained: Path) -> None:
    record = read(trained)
    summary = json.loads((trained / "summary.json").read_text())
    assert record.problems == []
    assert record.state == "finished"
    assert record.best == (summary["best_step"], summary["best_validation_loss"])
    assert record.metrics.step == summary["steps"]
    assert record.seconds == summary["elapsed_seconds"]
    assert record.number("parameters") == summary["parameters"]
    assert summary["data"].items() <= record.facts["data"].items()
    assert record.keys["model.hidden_size"] == 24


@pytest.mark.parametrize("about", [True, False])
def test_a_run_that_has_not_finished(about: bool, trained: Path, copy: Path) -> None:
    finished = read(trained)
    (copy / "summary.json").unlink()
    if not about:  # its checkpoint tells
        (copy / "about.json").unlink()
    record = read(copy)
    assert (record.state, record.problems) == ("ended", [])
    assert record.number("parameters") == finished.number("parameters")
    assert record.measured_on == finished.measured_on
    assert record.seconds == record.metrics.seconds == record.metrics.times.values[-1]


@pytest.mark.parametrize("kind", ["characters", "mu_law"])
def test_runs_of_0_1_0(kind: str) -> None:
    record = read(EARLIER_RUNS / kind)
    assert (record.state, record.problems) == ("ended", [])
    assert record.best is not None
    assert record.text("data", "sha256")
    assert record.number("parameters")


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
    assert len(record.metrics.times.steps) == len(before.times.steps) == len(lines)
    assert [problem.partition(":")[0] for problem in record.problems] == [
        str(metrics),
        str(copy / "summary.json"),
    ]
    assert f"4 of {len(lines) + 4} lines" in record.problems[0]
    assert record.state == "ended"
    assert record.text("data", "sha256")


@pytest.mark.parametrize("odd", ["NaN", "1e400", "[]"])
def test_numbers_that_no_run_wrote_are_left_out(odd: str, copy: Path, run: Run) -> None:
    for name in ("about.json", "summary.json"):
        text = (copy / name).read_text()
        (copy / name).write_text(re.sub(r": -?\d[\d.e+-]*", f": {odd}", text))
    (copy / "metrics.jsonl").write_text("")  # which would tell the time
    record = read(copy)
    assert record.problems == []
    assert (record.number("parameters"), record.number("data", "symbols")) == (None, None)
    assert record.seconds is None
    for words in (["report", f"run_dir={copy}"], ["compare", f"runs={copy}"]):
        done = run(*words)
        assert done.code == 0, done.err


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_told(copy: Path) -> None:
    for name in ("metrics.jsonl", "about.json", "summary.json"):
        (copy / name).chmod(0)
    assert len(read(copy).problems) == 3


def test_of_an_empty_run_nothing_is_known(tmp_path: Path) -> None:
    record = read(tmp_path)
    assert record.keys == {}
    assert (record.metrics.step, record.best, record.seconds, record.problems) == (
        0,
        None,
        None,
        [],
    )
    assert record.measured_on != read(EARLIER_RUNS / "mu_law").measured_on


@pytest.mark.parametrize(
    ("key", "value"), [("channels", 2), ("symbols_per_sample", 2), ("trim_silence", 40.0)]
)
def test_losses_on_other_symbols_are_not_compared(key: str, value: float) -> None:
    record = read(EARLIER_RUNS / "mu_law")
    settings = deepcopy(record.settings)
    assert settings
    setattr(settings.data, key, value)
    assert dataclasses.replace(record, settings=settings).measured_on != record.measured_on


def test_losses_on_other_shares_of_the_part_are_not_compared() -> None:
    record = read(EARLIER_RUNS / "mu_law")
    part = dataclasses.replace(record, metrics=dataclasses.replace(record.metrics, share=0.5))
    assert part.measured_on != record.measured_on
