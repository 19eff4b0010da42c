"""A run is read as far as it can be, whatever has become of its folder."""

import json
import shutil
from pathlib import Path

import pytest

from seqkit.errors import ConfigError
from seqkit.runs import records
from tests.conftest import EARLIER_RUNS


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A copy of a finished run that may be damaged."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def test_a_finished_run(trained: Path) -> None:
    record = records.read(trained)
    summary = json.loads((trained / "summary.json").read_text())
    assert record.problems == []
    assert record.outcome == "finished"
    assert record.best is not None
    assert record.best["loss"] == summary["best_validation_loss"]
    assert record.best["step"] == summary["best_step"]
    assert record.parameters == summary["parameters"]
    assert record.data == summary["data"]
    assert record.settings["model.hidden_size"] == 24


def test_an_unfinished_run_is_told_by_its_checkpoint(trained: Path, copy: Path) -> None:
    finished = records.read(trained)
    (copy / "summary.json").unlink()
    record = records.read(copy)
    assert (record.outcome, record.problems) == ("unfinished", [])
    assert record.parameters == finished.parameters
    assert record.measured_on == finished.measured_on


@pytest.mark.parametrize("kind", ["characters", "mu_law"])
def test_runs_of_0_1_0(kind: str) -> None:
    record = records.read(EARLIER_RUNS / kind)
    assert (record.outcome, record.problems) == ("unfinished", [])
    assert record.best is not None
    assert record.data["sha256"]
    assert record.parameters


def test_damaged_files_are_told_and_the_rest_is_read(copy: Path) -> None:
    metrics = copy / "metrics.jsonl"
    lines = metrics.read_text().splitlines()
    odd = [
        "[]",
        '{"event": "train"}',
        '{"event": "validate", "step": 1, "seconds": 1, "loss": NaN}',
    ]
    metrics.write_text("\n".join([*lines, *odd, lines[-1][:20]]))
    (copy / "summary.json").write_text("{")
    (copy / "config.yaml").write_text("model: [")
    record = records.read(copy)
    assert len(record.metrics) == len(lines)
    assert [problem.partition(":")[0] for problem in record.problems] == [
        f"{copy / 'config.yaml'}, line 1",
        str(metrics),
        str(copy / "summary.json"),
    ]
    assert f"4 of {len(lines) + 4} lines" in record.problems[1]
    assert record.settings == {}
    assert record.outcome == "unfinished"
    assert record.data["sha256"]


def test_of_an_empty_run_nothing_is_known(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("seed: 3\n")
    record = records.read(tmp_path)
    assert record.settings["seed"] == 3
    assert (record.metrics, record.best, record.last, record.data) == ([], None, None, {})
    assert record.measured_on != records.read(EARLIER_RUNS / "mu_law").measured_on


def test_runs_are_found_by_a_glob_and_below_it(trained: Path, tmp_path: Path) -> None:
    for place in ("a", "b", "shakespeare/2026", "[x]"):
        shutil.copytree(trained, tmp_path / place)
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "config.yaml").touch()
    (tmp_path / "notes.txt").touch()
    found, others = records.find(f"{tmp_path}/*")
    names = [str(path.relative_to(tmp_path)) for path in found]
    assert names == ["[x]", "a", "b", "shakespeare/2026"]
    assert others == [tmp_path / "conf"]
    assert records.find(f"{tmp_path}/[ab]") == ([tmp_path / "a", tmp_path / "b"], [])
    assert records.find(f"{tmp_path}/[x]") == ([tmp_path / "[x]"], [])
    assert records.find(str(tmp_path)) == (found, [])
    for pattern in ("none", "*.txt", "conf"):
        with pytest.raises(ConfigError, match="no run there"):
            records.find(f"{tmp_path}/{pattern}")
