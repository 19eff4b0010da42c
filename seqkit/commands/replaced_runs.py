"""The runs that a sweep with `overwrite=true` replaces."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from seqkit.commands.sweep_plan import Plan
from seqkit.foundation.console import Console
from seqkit.foundation.errors import SeqkitError
from seqkit.runs import inputs
from seqkit.runs.folder import RunFolder
from seqkit.runs.layout import REPLACED, runs_below
from seqkit.sweeps import replaced


def check_inputs(plan: Plan) -> None:
    """Raise OutputError where a job starts from, or reads, what is in a run that is replaced."""
    config = plan.config
    if not (config.run_dir and config.overwrite and config.resume == "never"):
        return
    runs = [RunFolder(Path(config.run_dir) / str(number)) for number in range(plan.total)]
    for run in filter(lambda run: run.is_used, runs):
        for composed in plan.composed:
            inputs.check_apart(composed.config, run.path, replaced=True)


@contextlib.contextmanager
def set_aside(plan: Plan, folder: Path, console: Console) -> Iterator[None]:
    """Keep the runs that a sweep replaces, if it does, out of its way while the block lasts.

    Raises OutputError where they cannot be moved.
    """
    _make_room(plan, folder, console)
    try:
        yield
    except SeqkitError:  # as when a job cannot be started: the sweep has ended
        replaced.put_in_place(folder, console.notice)
        raise


def _make_room(plan: Plan, folder: Path, console: Console) -> None:
    config = plan.config
    replaced.undo_unfinished(folder)
    if config.resume != "never":
        if waiting := replaced.settle_begun(folder):
            console.notice(
                f"{folder / REPLACED} has the earlier runs {', '.join(waiting)}, which "
                "overwrite=true was to replace: each is removed when its job has begun"
            )
        return
    replaced.put_in_place(folder, lambda said: None)
    if not config.overwrite:
        return
    replaced.set_aside(folder, range(plan.total))
    numbers = [int(run.name) for run in runs_below(folder) if run.name.isdecimal()]
    if others := [str(folder / str(n)) for n in sorted(numbers) if n >= plan.total]:
        console.notice(f"left as they are, since this sweep has fewer runs: {', '.join(others)}")


def show_kept(folder: Path, console: Console) -> None:
    """Say which runs a sweep that was stopped has not replaced yet."""
    if waiting := replaced.settle_begun(folder):
        console.notice(
            f"kept in {folder / REPLACED} until their jobs have begun: the earlier runs "
            f"{', '.join(waiting)}"
        )
