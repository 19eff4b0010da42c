"""The table of a sweep says where losses cannot be compared."""

import json
import re
from pathlib import Path

import pytest

from seqkit import compose
from seqkit.commands.sweep_outcome import show_table
from seqkit.foundation.console import Console
from seqkit.sweeps.jobs import Job


@pytest.mark.parametrize(
    ("scored", "losses"),
    [
        ((256, 256), ["1.5000", "1.5000"]),
        ((256, 1000), ["1.5000 on 25.6 %", "1.5000 on 100 %"]),
        ((256, 0), ["1.5000", "-"]),
    ],
)
def test_losses_on_different_shares_are_told_apart(
    scored: tuple[int, int], losses: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
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
    assert ("cannot be compared" in said) == ("on" in losses[0])


def test_data_that_changed_between_two_runs_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    jobs = []
    for number, digest in enumerate(("a", "a", "b", "b")):
        words = ["recipe=shakespeare", f"data.path={'x.txt' if number < 3 else 'y.txt'}"]
        job = Job.at(tmp_path / str(number), compose.compose(words, []), [], f"seed={number}")
        job.outcome = "finished"
        job.files.path.mkdir()
        job.files.summary.write_text(json.dumps({"data": {"sha256": digest}}))
        jobs.append(job)
    show_table(jobs, Console())
    told = [line for line in capsys.readouterr().err.splitlines() if "changed" in line]
    assert told == [
        "run 2 learned from other data than run 0, as x.txt changed meanwhile: their losses cannot "
        "be compared"
    ]
