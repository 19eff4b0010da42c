"""A sweep whose jobs are processes of their own: several at once, or chosen by a search."""

import contextlib
import os
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

from seqkit.commands import replaced_runs
from seqkit.commands.interrupts import Interrupts
from seqkit.commands.sweep_outcome import show_going_on, show_table
from seqkit.commands.sweep_plan import Plan
from seqkit.foundation import disk, threads
from seqkit.foundation.command_line import command_line
from seqkit.foundation.console import Console
from seqkit.foundation.errors import InterruptedRunError, OutputError, StoppedError
from seqkit.runs.claim import Claim
from seqkit.runs.folder import RunFolder
from seqkit.runs.layout import RunFiles
from seqkit.sweeps import local, replaced, slurm
from seqkit.sweeps.jobs import Grid, Source
from seqkit.sweeps.local import Launcher
from seqkit.sweeps.running import Sweep
from seqkit.sweeps.study import Search


def run(
    plan: Plan,
    launcher: Launcher,
    folder: Path,
    console: Console,
    again: Sequence[str],
) -> int:
    """Run the jobs of a plan, and show a table on stderr; stdout stays empty.

    A job that fails ends no other. After a signal all save their state and end.

    Args:
        plan: what is to be trained.
        launcher: what starts the jobs.
        folder: of the sweep.
        console: for notices and progress.
        again: the words that asked for the sweep.

    Returns:
        The exit code of the first job that failed, or of the signal.

    Raises:
        SeqkitError: a job cannot be started, the search in the folder is another one, or another
            sweep runs there.
    """
    with (
        claimed(folder),
        Interrupts(at_once=False) as interrupts,
        replaced_runs.set_aside(plan, folder, console),
    ):
        source = _source(plan, folder)
        at_once = min(launcher.slots, source.total)
        console.notice(
            f"=== multirun: {source.total} jobs into {folder}, {at_once} at once; what each one "
            f"says is in {folder}/NUMBER.log ==="
        )
        try:
            Sweep(source, launcher, console, lambda: interrupts.received).run()
        except KeyboardInterrupt:  # a second signal
            if interrupts.received is None:
                raise
        finally:
            show_table(source.jobs, console)
            compared = command_line("compare", f"runs={folder}/*")
            console.notice(f"compare them with: {compared}")
        if interrupts.received is not None:
            replaced_runs.show_kept(folder, console)
            show_going_on(again, folder, console)
            of_key = interrupts.received is signal.SIGINT
            return (InterruptedRunError if of_key else StoppedError).exit_code
        replaced.put_in_place(folder, console.notice)
    return next((job.code for job in source.jobs if job.code), 0)


@contextlib.contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Keep other sweeps out of the folder. Raises OutputError where one is at work, or none can."""
    RunFolder(folder).check_writable()
    disk.make_folder(folder)
    claim = Claim(RunFiles(folder).lock)
    try:
        claim.take()
    except OutputError as error:
        raise OutputError(f"run_dir={folder}: {error}") from error
    try:
        yield
    finally:
        claim.release()


def _source(plan: Plan, folder: Path) -> Source:
    config = plan.config
    if plan.searches:
        return Search(
            folder,
            plan.space,
            plan.compose,
            trials=config.search.trials,
            prune=config.search.prune,
            seed=config.fixed_seed,
        )
    jobs = plan.jobs(folder)
    for job in jobs:
        job.check_run()
    return Grid(jobs)


def launcher_of(plan: Plan, options: Sequence[str]) -> Launcher:
    """What starts the jobs, as the keys say.

    Args:
        plan: what is to be trained.
        options: words of each job's command line that come before its own.

    Raises:
        ConfigError, DeviceError: there is no such thing on this machine.
    """
    config = plan.config
    count = config.gpus or config.jobs or 1
    if config.gpus:  # a job that finds no GPU is not to train on the CPU
        options = [*options, "device=cuda"]
    shares = not threads.are_told()  # what the user says of threads counts
    if config.launcher.kind == "slurm":
        return slurm.Slurm(
            config.launcher, count, options,
            gpus=config.gpus is not None, share_cores=shares,
        )  # fmt: skip
    names: list[str] = []
    if config.gpus is not None:
        import torch

        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        names = local.gpus(config.gpus, visible, torch.cuda.device_count())
    at_once = min(count, plan.total)
    each = max(1, threads.own_cores() // at_once) if shares and at_once > 1 else None
    return local.Local(count, options, names, each)
