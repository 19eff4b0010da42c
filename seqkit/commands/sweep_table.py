"""The table of a sweep's jobs, which it shows at its end."""

from collections.abc import Sequence

from seqkit.commands import tables
from seqkit.foundation.console import Console
from seqkit.foundation.wording import duration
from seqkit.runs import record
from seqkit.sweeps.jobs import Job

_HEADINGS = ("run", "best loss", "time", "outcome", "keys")


def show_table(jobs: Sequence[Job], console: Console) -> None:
    """A line for each job; of one that failed, what is in its folder may be another run's."""
    rows = [_HEADINGS]
    for job in jobs:
        left = None if job.outcome.startswith("failed") else record.read(job.files.path)
        loss = time = "-"
        if left and left.best:
            loss = f"{left.best[1]:.4f}"
        if left and left.seconds is not None:
            time = duration(left.seconds)
        rows.append((job.name, loss, time, job.outcome, job.own or "-"))
    console.notice("\n=== multirun: the whole sweep ===")
    for line in tables.aligned(rows):
        console.notice(line)
