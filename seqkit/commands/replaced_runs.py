"""The runs that a sweep with `overwrite=true` replaces."""

import contextlib
from pathlib import Path

from seqkit.commands import named
from seqkit.commands.sweep_plan import Plan
from seqkit.console import Console
from seqkit.errors import SeqkitError
from seqkit.runs import inputs
from seqkit.runs.folder import RunFolder
from seqkit.runs.layout import runs_below


def check_inputs(plan: Plan) -> None:
    """Raise OutputError where a job starts from, or reads, what is in a run that is replaced."""
    config = plan.config
    if not (config.run_dir and config.overwrite and config.resume == "never"):
        return
    runs = [RunFolder(Path(config.run_dir) / str(number)) for number in range(plan.total)]
    for run in filter(lambda run: run.is_used, runs):
        for composed in plan.composed:
            inputs.check_apart(composed.config, run.path, replaced=True)


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
