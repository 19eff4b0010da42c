"""Runs side by side: what differs, the best first, whatever lies in their folders."""

import re
import shutil
from pathlib import Path

import pytest

from seqkit.cli import main
from seqkit.commands import compare
from tests.conftest import SENTENCE, TINY, Run, summary_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of one text, one better than the other, one run of another text, and a folder."""
    place = tmp_path_factory.mktemp("compared")
    text, other, folder = place / "text.txt", place / "other.txt", place / "runs"
    text.write_text(SENTENCE * 40)
    other.write_text("abcdefg " * 200)
    for name, *words in (
        ["bad", "train.max_steps=4", f"data.path={text}"],
        ["good", "train.max_steps=40", "optimizer.lr=0.02", f"data.path={text}"],
        ["$other", "train.max_steps=4", f"data.path={other}"],
    ):
        assert main([*TINY, *words, "train.validate_every=4", f"run_dir={folder / name}"]) == 0
    (folder / "_empty").mkdir()
    return folder


@pytest.fixture
def runs(made: Path, tmp_path: Path) -> Path:
    """The runs, to be done with as one likes."""
    return Path(shutil.copytree(made, tmp_path / "runs"))


def test_a_table_best_first_of_what_differs(
    run: Run, runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = run.ok("compare", f"runs={runs}/[bg]*")
    heading, better, worse = shown.out.decode().splitlines()
    assert heading.split() == [
        *("run", "loss", "bits", "steps", "time", "parameters", "outcome", "lr", "max_steps"),
    ]
    assert better.split()[0].endswith("good")
    assert re.search(r"  40 +\d+:\d\d +[\d,]+ +finished +0\.02 +40$", better)
    assert worse.split()[-2:] == ["0.01", "4"]
    assert float(better.split()[1]) < float(worse.split()[1])
    assert "left out" not in shown.err
    monkeypatch.setattr(compare, "_MOST", 1)
    shown = run.ok("compare", f"runs={runs}/[bg]*")
    assert shown.out.decode().splitlines()[0].split()[-2:] == ["outcome", "lr"]
    assert "differ beside those shown: 1 (json=true has all)" in shown.err


def test_different_data_is_said_to_be_different(run: Run, runs: Path) -> None:
    shown = run.ok("compare", f"runs={runs}/*")
    assert "losses compare within a block" in shown.err
    assert f"left out, since they are no runs: {runs / '_empty'}" in shown.err
    result = run.json("compare", f"runs={runs}/*")
    names = [Path(one["run"]).name for one in result["runs"]]
    assert names in (["good", "bad", "$other"], ["$other", "good", "bad"])
    assert result["differing"] == ["data.path", "optimizer.lr", "train.max_steps"]
    assert result["left_out"] == [str(runs / "_empty")]
    for one in result["runs"]:
        summary = summary_of(Path(one["run"]))
        assert one["loss"] == summary["best_validation_loss"]
        assert one["steps"] == summary["steps"]
        assert one["parameters"] == summary["parameters"]
        assert one["settings"].keys() == set(result["differing"])


def test_damage_is_left_out_and_no_failure(run: Run, runs: Path) -> None:
    with (runs / "bad" / "metrics.jsonl").open("a") as file:
        file.write('[]\n{"event": "train"}\n{"event": "validate", "step": 1, "loss": NaN}\n{"ev')
    (runs / "good" / "summary.json").unlink()
    (runs / "$other" / "about.json").write_text("- 1")
    shown = run.ok("compare", f"runs={runs}")
    rows = [line.split() for line in shown.out.decode().splitlines()]
    outcome = {Path(row[0]).name: row[6] for row in rows if len(row) > 6 and row[0] != "run"}
    assert outcome == {"good": "unfinished", "bad": "finished", "$other": "finished"}
