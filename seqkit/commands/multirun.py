"""`--multirun`: trainings one after the other, and a table of what came of them."""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seqkit import disk, stdout
from seqkit.command_line import command_line
from seqkit.commands import tables
from seqkit.compose import Composed
from seqkit.config import Config
from seqkit.console import Console, Product
from seqkit.data import pipes
from seqkit.errors import (
    ConfigError,
    DataError,
    InterruptedRunError,
    OutputError,
    StoppedError,
)
from seqkit.progress_line import duration
from seqkit.runs import record
from seqkit.runs.folder import RunFolder, make_numbered
from seqkit.runs.layout import RunFiles

_STOPPED = (StoppedError.exit_code, InterruptedRunError.exit_code)
_READ_ONCE = ("data.path", "prompt_file")  # keys that may name a stream
_HEADINGS = ("run", "best loss", "time", "outcome", "keys")


@dataclass
class Job:
    """One training of a sweep.

    words: its own command line.
    """

    composed: Composed
    words: Sequence[str]
    files: RunFiles
    outcome: str = "not started"

    @property
    def prints_text(self) -> bool:
        """Whether its sample is on stdout; of sound it is a file of the run."""
        return self.outcome == "finished" and not any(self.files.samples.glob("final.*"))


def run(
    configs: Sequence[Composed],
    sweep: Sequence[Sequence[str]],
    execute: Callable[[Composed, Sequence[str]], int],
    again: Sequence[str],
) -> int:
    """Run every job, and show a table on stderr.

    A job that fails stops no other; a signal ends the sweep.

    Args:
        configs: of each job.
        sweep: the command line of each job.
        execute: runs one, reports its failure and returns its exit code.
        again: the words that asked for the sweep.

    Returns:
        The exit code of the first job that failed, or of the signal.

    Raises:
        ConfigError: there is no recipe, or no folder to go on with.
        OutputError: the sweep's folder cannot be made.
    """
    parent = _folder([one.config for one in configs])
    console = Console(all(one.config.quiet for one in configs))
    jobs = [
        Job(
            one._replace(config=replace(one.config, run_dir=str(parent / str(number)))),
            words,
            RunFiles(parent / str(number)),
        )
        for number, (one, words) in enumerate(zip(configs, sweep, strict=True))
    ]
    failure = 0
    for number, job in enumerate(jobs):
        if number and jobs[number - 1].prints_text:
            code = _separate(console)
            failure = failure or code
        place = f"run {number + 1} of {len(jobs)}, in {job.files.path}"
        own = _own_words(job, jobs)
        console.notice(f"\n=== multirun: {place}{': ' if own else ''}{own} ===")
        before = _content(job.files.summary)
        code = execute(job.composed, job.words)
        if code in _STOPPED:
            ended = _content(job.files.summary) not in (None, before)  # only its sample is missing
            job.outcome = "finished" if ended else "stopped"
            _show_table(jobs, console)
            words = [word for word in again if word.partition("=")[0] not in ("run_dir", "resume")]
            line = command_line("--multirun", *words, f"run_dir={parent}", "resume=auto")
            console.notice(f"go on with the whole sweep: {line}")
            return code
        job.outcome = f"failed, exit code {code}" if code else "finished"
        if not code and before and before == _content(job.files.summary):
            job.outcome = "finished before"
        failure = failure or code
    _show_table(jobs, console)
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


def with_files(words: Sequence[str], console: Console) -> list[str]:
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


def _own_words(job: Job, jobs: Sequence[Job]) -> str:
    """What was given to a job, and not to all of them."""
    common = set.intersection(*({*other.words} for other in jobs))
    return " ".join(word for word in job.words if word not in common)


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


def _show_table(jobs: Sequence[Job], console: Console) -> None:
    rows = [_HEADINGS]
    rows += [
        (job.files.path.name, *_loss_and_time(job), job.outcome, _own_words(job, jobs) or "-")
        for job in jobs
    ]
    console.notice("\n=== multirun: the whole sweep ===")
    for line in tables.aligned(rows):
        console.notice(line)


def _loss_and_time(job: Job) -> tuple[str, str]:
    """The best validation loss, and the time that a job took, as far as it came."""
    if job.outcome.startswith("failed"):
        return "-", "-"  # what is in its folder may be another run's
    left = record.read(job.files.path)
    best = f"{left.best[1]:.4f}" if left.best else "-"
    return best, "-" if left.seconds is None else duration(left.seconds)


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
