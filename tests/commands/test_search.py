"""A search of real trainings: some are ended early, and the whole goes on where it stopped."""

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.commands.test_multirun import started, table
from tests.conftest import SENTENCE, TINY, Run, wait_for_steps
from tests.warm_python import python

_RATES = "optimizer.lr=tag(log,interval(1e-6,1e-1))"


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A search of eight settings, of which the later ones may be pruned."""
    monkeypatch.setattr(sys, "executable", python())
    (tmp_path / "text.txt").write_text(SENTENCE * 100)
    keys = ["search=optuna", "search.trials=8", _RATES, "train.max_steps=10"]
    return [*TINY, *keys, f"data.path={tmp_path / 'text.txt'}", "train.validate_every=5"]


@pytest.mark.thorough
def test_a_search_prunes_marks_and_repeats(words: list[str], run: Run, tmp_path: Path) -> None:
    done = run("--multirun", *words, f"run_dir={tmp_path / 's'}")
    assert (done.code, done.out) == (0, b""), done.err
    rows = table(done.err)
    outcomes = [row[3] for row in rows]
    assert set(outcomes) == {"finished", "pruned"}
    assert outcomes[:5] == ["finished"] * 5
    pruned = outcomes.index("pruned")
    log = (tmp_path / "s" / f"{pruned}.log").read_text()
    assert "stopped by the search at step 5; the state is saved" in log
    assert "other settings do better" in (tmp_path / "s" / str(pruned) / "report.html").read_text()
    compared = run("compare", f"runs={tmp_path / 's'}/*", "json=true")
    found = {one["run"]: one for one in json.loads(compared.out)["runs"]}
    assert found[str(tmp_path / "s" / str(pruned))]["outcome"] == "pruned"
    assert json.loads(compared.out)["differing"] == ["optimizer.lr"]
    losses = [row[1] for row in rows]
    assert float(rows[pruned][1]) > sorted(map(float, losses))[3]
    again = run("--multirun", *words, f"run_dir={tmp_path / 's'}")
    before = [{"finished": "finished before"}.get(outcome, outcome) for outcome in outcomes]
    assert [row[3] for row in table(again.err)] == before
    assert "begins" not in again.err


@pytest.mark.thorough
def test_a_stopped_search_goes_on_with_the_same_choices(
    words: list[str], run: Run, tmp_path: Path
) -> None:
    words = [*words, "search.trials=3", "search.prune=false", "length=20"]
    whole = run.ok("--multirun", *words, f"run_dir={tmp_path / 'whole'}")
    longer = [*words, f"run_dir={tmp_path / 's'}"]
    with started(["--multirun", *longer, "train.max_minutes=100"]) as running:
        wait_for_steps(tmp_path / "s" / "0", 10)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    assert running.returncode == 130, err
    assert "another train.max_minutes" in run.fails(2, "--multirun", *longer)
    with started(["--multirun", *longer, "train.max_minutes=100"]) as running:
        wait_for_steps(tmp_path / "s" / "2", 10)
        running.send_signal(signal.SIGINT)
        _, err = running.communicate()
    assert [row[4] for row in table(err)] == [row[4] for row in table(whole.err)]


@pytest.mark.thorough
def test_without_optuna_it_says_what_to_install(
    words: list[str], run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert "pip install 'seqkit[optuna]'" in run.fails(2, "--multirun", *words)
