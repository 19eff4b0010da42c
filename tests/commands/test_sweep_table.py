"""The table of a sweep says where losses cannot be compared."""

import json
import re
from pathlib import Path

import pytest

from seqkit import compose
from seqkit.commands.sweep_table import show_table
from seqkit.foundation.console import Console
from seqkit.sweeps.jobs import Job


@pytest.mark.parametrize(
    ("scored", "losses", "alike"),
    [
        ((256, 256), ["1.5000", "1.5000"], True),
        ((256, 1000), ["1.5000", "1.5000"], False),
        ((256, 0), ["1.5000", "-"], True),
    ],
)
def test_losses_on_different_shares_are_told_apart(
    scored: tuple[int, int],
    losses: list[str],
    alike: bool,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    composed, jobs = compose.compose(["recipe=shakespeare"], []), []
    for number, count in enumerate(scored):
        job = Job.at(tmp_path / str(number), composed, [], f"seed={number}")
        job.outcome = "finished"
        job.files.path.mkdir()
        line = {"event": "validate", "step": 9, "seconds": 1.0, "loss": 1.5, "bits_per_symbol": 2.2}
        line |= {"scored": count, "total": 1000}
        job.files.metrics.write_text(f"{json.dumps(line)}\n" if count else "")
        jobs.append(job)
    show_table(jobs, Console())
    said = capsys.readouterr().err
    rows = [row for row in said.splitlines() if row[:1].isdigit()]
    assert [re.split("  +", row)[1] for row in rows] == losses
    assert ("cannot be compared" in said) != alike
