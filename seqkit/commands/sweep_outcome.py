"""What a sweep tells at its end: a table of its jobs, and the line that goes on with it."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from seqkit.commands import tables
from seqkit.foundation.command_line import command_line
from seqkit.foundation.console import Console
from seqkit.foundation.wording import duration
from seqkit.runs import record
from seqkit.runs.record import Record
from seqkit.sweeps.jobs import Job

_NOT_AGAIN = ("run_dir", "resume", "overwrite")
_HEADINGS = ("run", "best loss", "time", "outcome", "keys")
_NOT_ALIKE = (
    "losses on different shares of the validation part cannot be compared: train.max_minutes left "
    "some runs less time for it than others; evaluate scores all of it"
)


def show_table(jobs: Sequence[Job], console: Console) -> None:
    """A line for each job."""
    found = [_found(job) for job in jobs]
    shares = {left.metrics.share for left in found if left and left.best}
    rows = [_HEADINGS]
    for job, left in zip(jobs, found, strict=True):
        told = _loss_and_time(left, shown=len(shares) > 1)
        rows.append((job.name, *told, job.outcome, job.own or "-"))
    console.notice("\n=== multirun: the whole sweep ===")
    for line in tables.aligned(rows):
        console.notice(line)
    if len(shares) > 1:
        console.notice(_NOT_ALIKE)
    for said in _changed_data(jobs, found):
        console.notice(said)


def show_going_on(again: Sequence[str], folder: Path, console: Console) -> None:
    """The command line that goes on with a sweep; `again` are the words that asked for it."""
    words = [word for word in again if word.partition("=")[0] not in _NOT_AGAIN]
    line = command_line("--multirun", *words, f"run_dir={folder}", "resume=auto")
    console.notice(f"go on with the whole sweep: {line}")


def _found(job: Job) -> Record | None:
    """What a job left; None if it failed, since what is in its folder may be another run's."""
    return None if job.outcome.startswith("failed") else record.read(job.files.path)


def _changed_data(jobs: Sequence[Job], found: Sequence[Record | None]) -> Iterator[str]:
    """What is said of data that changed while the runs on it were made."""
    first: dict[tuple[str, ...], tuple[str, str]] = {}
    for job, left in zip(jobs, found, strict=True):
        data = job.composed.config.data
        if left is None or not (digest := left.text("data", "sha256")):
            continue
        name, before = first.setdefault((data.dataset, *data.path), (job.name, digest))
        if digest != before:
            yield (
                f"run {job.name} learned from other data than run {name}, as "
                f"{' and '.join(data.path) or data.dataset} changed meanwhile: their losses cannot "
                "be compared"
            )


def _loss_and_time(left: Record | None, *, shown: bool) -> tuple[str, str]:
    """The best validation loss, and the time that a job took, as far as it came.

    With `shown`, the loss says of which share of the validation part it is.
    """
    if left is None:
        return "-", "-"
    best = f"{left.best[1]:.4f}" if left.best else "-"
    best += f" on {100 * left.metrics.share:.3g} %" if left.best and shown else ""
    return best, "-" if left.seconds is None else duration(left.seconds)
