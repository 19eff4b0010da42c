"""The runs that a sweep with `overwrite=true` replaces."""

import contextlib
from pathlib import Path

from seqkit.commands import named
from seqkit.commands.sweep_plan import Plan
from seqkit.console import Console
from seqkit.errors import SeqkitError
from seqkit.runs.folder import RunFolder
from seqkit.runs.layout import runs_below


def remove(plan: Plan, folder: Path, console: Console) -> None:
    """Remove the runs that are where those of this sweep are to be, if it replaces them.

    All before the first job: else what is left of them, when the sweep is stopped, would pass for
    runs of this one. The run of a job that cannot begin stays.
    """
    if not plan.config.overwrite or plan.config.resume != "never":
        return
    for number in range(plan.total):
        config = plan.composed[min(number, len(plan.composed) - 1)].config
        run = RunFolder(folder / str(number))
        with contextlib.suppress(SeqkitError):  # the job itself tells
            named.check("train", config)
            with run.claimed():
                run.clear()
    numbers = [int(run.name) for run in runs_below(folder) if run.name.isdecimal()]
    if others := [str(folder / str(n)) for n in sorted(numbers) if n >= plan.total]:
        console.notice(f"left as they are, since this sweep has fewer runs: {', '.join(others)}")
