"""A validation part that takes longer to score than there is time: half of a large text."""

import json
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import SENTENCE, TINY, Run, environment, saved, start, torchrun

HALVES = "data.split=0.5,0.5,0"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text of three million characters."""
    path = tmp_path_factory.mktemp("large") / "text.txt"
    path.write_text(SENTENCE * (3_000_000 // len(SENTENCE)))
    return path


def test_a_budget_of_time_scores_a_part_and_says_so_everywhere(
    run: Run, large: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    done = run(*TINY, f"data.path={large}", HALVES, f"run_dir={folder}", "train.max_minutes=0.01")
    assert done.code == 0, done.err
    summary = json.loads((folder / "summary.json").read_text())
    scored, total = summary["validation_symbols_scored"], summary["validation_symbols"]
    assert scored < total / 2
    share = f"on {100 * scored / total:.2g} % of the validation part"
    assert done.err.count(f"validations score {scored:,} of the part's {total:,} symbols") == 1
    (told,) = (line for line in done.err.splitlines() if "finished: " in line)
    assert share in told
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    validated = [line for line in lines if line["event"] == "validate"]
    assert {(line["scored"], line["total"]) for line in validated} == {(scored, total)}
    assert f"Its losses are {share}" in (folder / "report.html").read_text()
    assert f"these losses are {share}" in run("compare", f"runs={folder}").out.decode()
    compared = json.loads(run("compare", f"runs={folder}", "json=true").out)
    assert compared["runs"][0]["share"] == scored / total


@pytest.mark.thorough
def test_a_run_that_scores_more_from_now_on_keeps_the_best_so_far(
    run: Run, large: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    words = (f"run_dir={folder}", "resume=auto")
    assert run(*TINY, f"data.path={large}", HALVES, *words, "train.max_minutes=0.01").code == 0
    best = (folder / "checkpoints" / "best.safetensors").read_bytes()
    steps = json.loads((folder / "summary.json").read_text())["steps"] + 1
    more = run(*words, "train.max_minutes=1", f"train.max_steps={steps}")
    assert more.code == 0, more.err
    kept = folder / "checkpoints" / "best.older"
    assert f"may be better than that of step {steps}: it is kept as {kept}" in more.err
    assert kept.read_bytes() == best
    again = run(*words, f"train.max_steps={steps + 1}")
    assert again.code == 0, again.err
    assert "it is kept as" not in again.err


@pytest.mark.thorough
def test_several_processes_score_the_same_part(large: Path, tmp_path: Path) -> None:
    words = [*TINY, f"data.path={large}", HALVES, "run_dir=run", "train.max_minutes=0.01"]
    subprocess.run(
        torchrun(2, "seqkit", *words), cwd=tmp_path, env=environment(), check=True, timeout=600
    )
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["validation_symbols_scored"] < summary["validation_symbols"] / 2


def test_a_kill_within_a_long_validation_loses_no_step(large: Path, tmp_path: Path) -> None:
    folder, wide = tmp_path / "run", ("model.hidden_size=384", "train.max_steps=9")
    killed = start(folder, large, HALVES, *wide, "train.validate_every=3")
    while not (folder / "checkpoints" / "last.safetensors").exists():
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.02)
    killed.kill()
    killed.communicate()
    progress = (saved(folder).training or {})["progress"]
    assert (progress["step"], progress["validating"]) == (3, True)
    assert not (folder / "checkpoints" / "best.safetensors").exists()
