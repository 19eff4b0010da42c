"""`--multirun`: many trainings, checked before any begins, each in a process of its own."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from seqkit import compose
from seqkit.commands.interrupts import Interrupts
from seqkit.compose import Composed, Space
from seqkit.config import Config
from seqkit.data import remote
from seqkit.foundation import disk, machine, threads
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, OutputError
from seqkit.foundation.wording import aligned, command_line, duration
from seqkit.runs import record
from seqkit.runs.folder import RunFolder, make_numbered
from seqkit.runs.layout import FolderLock, RunFiles, runs_below
from seqkit.sweeps import jobs, study
from seqkit.sweeps.jobs import Job, Launcher
from seqkit.sweeps.running import Grid, Sweep
from seqkit.sweeps.study import Search

_NOT_AGAIN = ("run_dir", "resume", "overwrite")  # keys that the line that goes on has of its own


@dataclass(frozen=True)
class Plan:
    """A sweep.

    config: the sweep's own keys, beside those of its first job.
    space: what a search chooses; None where every combination of values is trained.
    lines: the command line of every job; of a search, of those at the ends of its ranges.
    composed: their configs.
    begins_anew: whether it is not to go on with runs that are in its folder.
    """

    config: Config
    space: Space | None
    lines: Sequence[Sequence[str]]
    composed: Sequence[Composed]
    config_dirs: list[Path]
    begins_anew: bool

    def source(self, folder: Path) -> Grid:
        """The jobs, each with a numbered folder in this one."""
        if self.space:
            makes = partial(compose.compose, config_dirs=self.config_dirs)
            return Search(folder, self.space, makes, self.config.search, self.config.fixed_seed)
        common = set.intersection(*map(set, self.lines))
        differing = [" ".join(word for word in words if word not in common) for words in self.lines]
        rows = zip(self.composed, self.lines, differing, strict=True)
        return Grid([Job.numbered(folder, number, *row) for number, row in enumerate(rows)])


def planned(words: Sequence[str], config_dirs: list[Path]) -> Plan:
    """The sweep that a command line asks for.

    Raises:
        ConfigError: a key, a value or a range that is not valid.
    """
    rest = [word for word in words if not compose.is_of_sweep(word)]
    compose.refuse_keys_of_others(rest)
    sweep = compose.compose([*filter(compose.is_of_sweep, words)], config_dirs).config
    space = compose.space(rest, config_dirs) if sweep.search.kind == "optuna" else None
    if space:
        study.check(space)
    lines = space.extremes if space else compose.sweep(rest, config_dirs)
    first = compose.compose(lines[0], config_dirs).config
    # A job that is started again, as by the same line or by Slurm, goes on where it stood.
    resume = "resume=force" if first.resume == "force" else "resume=auto"
    lines = [_going_on(line, resume) for line in lines]
    if space:
        space = dataclasses.replace(space, words=_going_on(space.words, resume))
    composed = [compose.compose(line, config_dirs) for line in lines]
    config = dataclasses.replace(
        first, launcher=sweep.launcher, search=sweep.search, gpus=sweep.gpus, jobs=sweep.jobs
    )
    if sweep.launcher.kind == "serial" and (sweep.gpus or sweep.jobs):
        raise ConfigError("several jobs at once: give launcher=local or launcher=slurm, too")
    if sweep.gpus and first.device not in ("auto", "cuda"):
        raise ConfigError(f"device={first.device}: gpus= gives each job a GPU: leave device out")
    begins_anew = first.overwrite or "resume=never" in rest
    return Plan(config, space, lines, composed, config_dirs, begins_anew)


def _going_on(words: Sequence[str], resume: str) -> list[str]:
    left_out = ("resume", "overwrite")
    return [*(word for word in words if word.partition("=")[0] not in left_out), resume]


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
        if key in ("data.path", "prompt_file") and remote.is_pipe(value):
            raise ConfigError(f"{key}={value}: a sweep reads it several times: give a file")
    options = [f"--config-dir={place}" for place in plan.config_dirs]
    starts = _launcher(plan, options)
    folder = _folder(plan)
    disk.make_folder(folder)
    claim = FolderLock(RunFiles(folder).lock)
    claim.take()
    try:
        with Interrupts(at_once=False) as interrupts:
            source = plan.source(folder)
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
    return interrupts.failure("").exit_code


def _folder(plan: Plan) -> Path:
    """The folder that the numbered runs go to: run_dir, or a new one of its own."""
    config = plan.config
    if not all(composed.config.recipe for composed in plan.composed):
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


def _launcher(plan: Plan, options: Sequence[str]) -> Launcher:
    """What starts the jobs, as the keys say: one after the other, unless they say otherwise.

    Raises ConfigError, DeviceError: there is no such thing on this machine.
    """
    config = plan.config
    slots = config.gpus or config.jobs or 1
    if config.gpus:  # a job that finds no GPU is not to train on the CPU
        options = [*options, "device=cuda"]
    shares = not threads.are_given()  # what the user says of threads counts
    if config.launcher.kind == "slurm":
        queue = jobs.srun(config.launcher, gpu=config.gpus is not None)
        each = config.launcher.cpus if shares else None
        return Launcher(slots, options, threads=each, queue=queue)
    names: list[str] = []
    if config.gpus:
        import torch

        names = jobs.gpus(config.gpus, torch.cuda.device_count())
    at_once = min(slots, config.search.trials if plan.space else len(plan.lines))
    each = max(1, machine.own_cores() // at_once) if shares and at_once > 1 else None
    return Launcher(slots, options, names, each)


def _show_table(jobs: Sequence[Job], console: Console) -> None:
    """A line for each job; of one that failed, what is in its folder may be another run's."""
    rows = [("run", "best loss", "time", "outcome", "keys")]
    for job in jobs:
        left = None if job.outcome.startswith("failed") else record.read(job.files.path)
        loss = f"{left.best[1]:.4f}" if left and left.best else "-"
        time = "-" if left is None or left.seconds is None else duration(left.seconds)
        rows.append((job.name, loss, time, job.outcome, job.differing or "-"))
    console.notice("\n=== multirun: the whole sweep ===")
    for line in aligned(rows):
        console.notice(line)
