"""A validation part of which a share is scored: half of a large text."""

from pathlib import Path

import pytest

from seqkit.training.validation import SCORED
from tests.conftest import SENTENCE, TINY, Run, metrics_of, summary_of

HALVES = "data.split=0.5,0.5,0"


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A text of 700,000 characters."""
    path = tmp_path_factory.mktemp("large") / "text.txt"
    path.write_text(SENTENCE * (700_000 // len(SENTENCE)))
    return path


@pytest.mark.thorough
def test_the_share_of_a_large_part_that_is_scored_is_named(
    run: Run, large: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    small = ("model.num_layers=1", "model.hidden_size=8", "train.max_steps=3")
    done = run.ok(*TINY, f"data.path={large}", HALVES, f"run_dir={folder}", *small)
    summary = summary_of(folder)
    scored, total = summary["validation_symbols_scored"], summary["validation_symbols"]
    assert scored == SCORED < total / 2
    share = f"on {100 * scored / total:.2g} % of the validation part"
    assert share in done.err
    lines = metrics_of(folder)
    validated = [line for line in lines if line["event"] == "validate"]
    assert {(line["scored"], line["total"]) for line in validated} == {(scored, total)}
