"""`--multirun`: many trainings, each in a process of its own, and a table at the end."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

from seqkit.commands.interrupts import Interrupts
from seqkit.commands.sweep_plan import Plan
from seqkit.data import pipes
from seqkit.foundation import disk, threads
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, InterruptedRunError, OutputError, StoppedError
from seqkit.foundation.wording import aligned, command_line, duration
from seqkit.runs import record
from seqkit.runs.folder import RunFolder, make_numbered
from seqkit.runs.layout import RunFiles, runs_below
from seqkit.runs.lock import FolderLock
from seqkit.sweeps import launcher
from seqkit.sweeps.jobs import Grid, Job, Source
from seqkit.sweeps.launcher import Launcher
from seqkit.sweeps.running import Sweep
from seqkit.sweeps.study import Search

_NOT_AGAIN = ("run_dir", "resume", "overwrite")  # keys that the line that goes on has of its own


def run(plan: Plan, words: Sequence[str]) -> int:
    """Run every job, and show a table on stderr; stdout stays empty.

    A job that fails ends no other. After a signal all save their state and end.

    Args:
        plan: what is to be trained.
        words: of the command line, from which the plan was made.

    Returns:
        The exit code of the first job that failed, or of the signal.

    Raises:
        SeqkitError: there is no recipe, the folder cannot be made or belongs to another sweep, or
            a job cannot be started.
    """
    console = Console(plan.config.quiet)
    for key, _, value in (word.partition("=") for word in words):
        if key in ("data.path", "prompt_file") and pipes.is_pipe(value):
            raise ConfigError(f"{key}={value}: a sweep reads it several times: give a file")
    options = [f"--config-dir={place}" for place in plan.config_dirs]
    starts = _launcher(plan, options)
    folder = _folder(plan)
    claim = _claim(folder)
    try:
        with Interrupts(at_once=False) as interrupts:
            source = _source(plan, folder)
            console.notice(
                f"=== multirun: {source.total} jobs into {folder}, "
                f"{min(starts.slots, source.total)} at once; what each one says is in "
                f"{folder}/NUMBER.log ==="
            )
            try:
                Sweep(source, starts, console, lambda: interrupts.received).run()
            except KeyboardInterrupt:  # a second signal
                if interrupts.received is None:
                    raise
            finally:
                _show_table(source.jobs, console)
                compared = command_line("compare", f"runs={folder}/*")
                console.notice(f"compare them with: {compared}")
    finally:
        claim.release()
    if interrupts.received is None:
        return next((job.code for job in source.jobs if job.code), 0)
    again = [word for word in words if word.partition("=")[0] not in _NOT_AGAIN]
    line = command_line("--multirun", *options, *again, f"run_dir={folder}", "resume=auto")
    console.notice(f"go on with the whole sweep: {line}")
    of_key = interrupts.received is signal.SIGINT
    return (InterruptedRunError if of_key else StoppedError).exit_code


def _folder(plan: Plan) -> Path:
    """The folder that the numbered runs go to: run_dir, or a new one of its own."""
    config = plan.config
    if not all(one.config.recipe for one in plan.composed):
        raise ConfigError("no recipe: a sweep needs one, also to go on: give recipe=NAME")
    if not config.run_dir:
        if config.resume != "never":
            raise ConfigError(
                f"resume={config.resume}: give run_dir=FOLDER, the sweep to go on with"
            )
        folder = RunFolder.timed(Path(config.runs), config.recipe or "")
        folder.check_writable()
        return make_numbered(folder.path)
    folder = RunFolder(Path(config.run_dir))
    folder.check_writable()
    if plan.begins_anew and runs_below(folder.path):
        raise OutputError(f"run_dir={folder.path} holds runs already: give another run_dir")
    return folder.path


def _claim(folder: Path) -> FolderLock:
    """Keep other sweeps out of the folder. Raises OutputError where one is at work, or none can."""
    disk.make_folder(folder)
    claim = FolderLock(RunFiles(folder).lock)
    claim.take()
    return claim


def _source(plan: Plan, folder: Path) -> Source:
    config = plan.config
    if plan.space is None:
        return Grid(plan.jobs(folder))
    return Search(
        folder,
        plan.space,
        plan.compose,
        trials=config.search.trials,
        prune=config.search.prune,
        seed=config.fixed_seed,
    )


def _launcher(plan: Plan, options: Sequence[str]) -> Launcher:
    """What starts the jobs, as the keys say: one after the other, unless they say otherwise.

    Raises ConfigError, DeviceError: there is no such thing on this machine.
    """
    config = plan.config
    slots = config.gpus or config.jobs or 1
    if config.gpus:  # a job that finds no GPU is not to train on the CPU
        options = [*options, "device=cuda"]
    shares = not threads.are_told()  # what the user says of threads counts
    if config.launcher.kind == "slurm":
        queue = launcher.srun(config.launcher, gpu=config.gpus is not None)
        each = config.launcher.cpus if shares else None
        return Launcher(slots, options, threads=each, queue=queue)
    names: list[str] = []
    if config.gpus:
        import torch

        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        names = launcher.gpus(config.gpus, visible, torch.cuda.device_count())
    at_once = min(slots, plan.total)
    each = max(1, threads.own_cores() // at_once) if shares and at_once > 1 else None
    return Launcher(slots, options, names, each)


def _show_table(jobs: Sequence[Job], console: Console) -> None:
    """A line for each job; of one that failed, what is in its folder may be another run's."""
    rows = [("run", "best loss", "time", "outcome", "keys")]
    for job in jobs:
        left = None if job.outcome.startswith("failed") else record.read(job.files.path)
        loss = f"{left.best[1]:.4f}" if left and left.best else "-"
        time = "-" if left is None or left.seconds is None else duration(left.seconds)
        rows.append((job.name, loss, time, job.outcome, job.own or "-"))
    console.notice("\n=== multirun: the whole sweep ===")
    for line in aligned(rows):
        console.notice(line)
