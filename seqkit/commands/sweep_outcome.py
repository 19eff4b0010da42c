"""What a sweep tells at its end: a table of its jobs, and the line that goes on with it."""

from collections.abc import Sequence
from pathlib import Path

from seqkit.command_line import command_line
from seqkit.commands import tables
from seqkit.console import Console
from seqkit.progress_line import duration
from seqkit.runs import record
from seqkit.sweeps.jobs import Job

_NOT_AGAIN = ("run_dir", "resume", "overwrite")
_HEADINGS = ("run", "best loss", "time", "outcome", "keys")


def show_table(jobs: Sequence[Job], console: Console) -> None:
    """A line for each job."""
    rows = [_HEADINGS]
    rows += [(job.name, *_loss_and_time(job), job.outcome, job.own or "-") for job in jobs]
    console.notice("\n=== multirun: the whole sweep ===")
    for line in tables.aligned(rows):
        console.notice(line)


def show_going_on(again: Sequence[str], folder: Path, console: Console) -> None:
    """The command line that goes on with a sweep; `again` are the words that asked for it."""
    words = [word for word in again if word.partition("=")[0] not in _NOT_AGAIN]
    line = command_line("--multirun", *words, f"run_dir={folder}", "resume=auto")
    console.notice(f"go on with the whole sweep: {line}")


def _loss_and_time(job: Job) -> tuple[str, str]:
    """The best validation loss, and the time that a job took, as far as it came."""
    if job.outcome.startswith("failed"):
        return "-", "-"  # what is in its folder may be another run's
    left = record.read(job.files.path)
    best = f"{left.best[1]:.4f}" if left.best else "-"
    return best, "-" if left.seconds is None else duration(left.seconds)
