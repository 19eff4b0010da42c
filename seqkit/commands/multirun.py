"""`--multirun`: many trainings, one after the other or side by side, and a table at the end."""

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path

from seqkit.commands import replaced_runs, sweep_in_processes, sweep_plan
from seqkit.commands.sweep_outcome import show_going_on, show_table
from seqkit.commands.sweep_plan import Plan
from seqkit.compose import Composed
from seqkit.config import Config
from seqkit.data import pipes
from seqkit.foundation import disk, stdout
from seqkit.foundation.console import Console
from seqkit.foundation.errors import ConfigError, DataError, OutputError
from seqkit.foundation.stdout import Product
from seqkit.runs.folder import RunFolder, make_numbered
from seqkit.sweeps import replaced
from seqkit.sweeps.jobs import STOPPED, Job

_READ_ONCE = ("data.path", "prompt_file")  # keys that may name a stream
Execute = Callable[[Composed, Sequence[str]], int]


def run(plan: Plan, words: Sequence[str], execute: Execute) -> int:
    """Run every job, and show a table on stderr.

    A job that fails stops no other; a signal ends the sweep.

    Args:
        plan: what is to be trained.
        words: of the command line, from which the plan was made.
        execute: runs one training in this process, reports its failure and returns its exit code.

    Returns:
        The exit code of the first job that failed, or of the signal.

    Raises:
        ConfigError: there is no recipe, or no folder to go on with.
        OutputError: the sweep's folder cannot be made, another sweep runs there, or the sweep would
            replace what it reads.
    """
    console = Console(all(one.config.quiet for one in plan.composed))
    given = _with_files(words, console)
    if given != words:
        plan = sweep_plan.planned(given, plan.config_dirs)
    replaced_runs.check_inputs(plan)
    configs = [one.config for one in plan.composed]
    options = [f"--config-dir={place}" for place in plan.config_dirs]
    again = [*options, *given]
    if plan.in_this_process:
        folder = _folder(configs)
        with sweep_in_processes.claimed(folder), replaced_runs.set_aside(plan, folder, console):
            return _one_by_one(plan, folder, execute, again, console)
    launcher = sweep_in_processes.launcher_of(plan, options)
    return sweep_in_processes.run(plan, launcher, _folder(configs), console, again)


def _one_by_one(
    plan: Plan, folder: Path, execute: Execute, again: Sequence[str], console: Console
) -> int:
    """Run the jobs in this process; their samples go to stdout."""
    jobs = plan.jobs(folder)
    for job in jobs:
        job.check_run()
    failure = 0
    for number, job in enumerate(jobs):
        if number and _prints_text(jobs[number - 1]):
            code = _separate(console)
            failure = failure or code
        place = f"run {number + 1} of {len(jobs)}, in {job.files.path}"
        own = f": {job.own}" if job.own else ""
        console.notice(f"\n=== multirun: {place}{own} ===")
        before = job.summary()
        code = execute(job.composed, job.words)
        if code in STOPPED:
            ended = job.summary() not in (None, before)  # only its sample is missing
            job.outcome = "finished" if ended else "stopped"
            show_table(jobs, console)
            replaced_runs.show_kept(folder, console)
            show_going_on(again, folder, console)
            return code
        try:
            replaced.settle(job.files.path, console.notice)
        except OutputError as error:  # it stops no other job
            console.failure(f"[{job.name}] {error}")
        job.outcome = f"failed, exit code {code}" if code else "finished"
        if code and console.quiet:  # no heading tells which one
            console.failure(f"[{job.name}] {job.outcome}")
        if not code and before and before == job.summary():
            job.outcome = "finished before"
        failure = failure or code
    show_table(jobs, console)
    replaced.put_in_place(folder, console.notice)
    return failure


def _folder(configs: Sequence[Config]) -> Path:
    """The folder that the numbered runs go to: run_dir, or a new one of its own."""
    first = configs[0]
    if not all(config.recipe for config in configs):
        raise ConfigError("no recipe: a sweep needs one, also to go on: give recipe=NAME")
    if first.run_dir:
        return Path(first.run_dir)
    if first.resume != "never":
        raise ConfigError(f"resume={first.resume}: give run_dir=FOLDER, the sweep to go on with")
    folder = RunFolder.timed(Path(first.runs), first.recipe or "")
    folder.check_writable()
    return make_numbered(folder.path)


def _with_files(words: Sequence[str], console: Console) -> list[str]:
    """The words of a sweep with files in the place of streams, which the first run would empty.

    A stream from which nothing comes is left to the runs: those that are resumed need it no more.
    """
    parts = [word.partition("=") for word in words]
    given = {value for key, _, value in parts if key in _READ_ONCE and pipes.is_pipe(value)}
    kept = {}
    with contextlib.suppress(DataError):
        for stream in sorted(given):
            (kept[stream],) = pipes.settled(
                [stream], disk.cache_dir(), console.notice, console.progress
            )
    return [
        f"{key}{sign}{kept.get(value, value) if key in _READ_ONCE else value}"
        for key, sign, value in parts
    ]


def _prints_text(job: Job) -> bool:
    """Whether its sample is on stdout; of sound it is a file of the run."""
    return job.outcome == "finished" and not any(job.files.samples.glob("final.*"))


def _separate(console: Console) -> int:
    """An empty line between samples that are piped; a terminal has the headings between them.

    Returns the exit code of a failure. It is no failure if nobody reads the samples any more.
    """
    if stdout.stream() is None:
        return 0
    product = Product()
    try:
        if not product.terminal:
            product.write("\n\n")
            product.flush()
    except OutputError as error:
        console.notice(f"seqkit: error: {error}")
        return error.exit_code
    except BrokenPipeError:
        pass
    return 0
