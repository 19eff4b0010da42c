"""`--multirun`: trainings one after the other, and a table of what came of them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from seqkit import disk
from seqkit.api.train import Run
from seqkit.command_line import command_line
from seqkit.compose import Composed
from seqkit.config import Config
from seqkit.console import Console, Product
from seqkit.data import streams
from seqkit.errors import CheckpointError, ConfigError, InterruptedRunError, StoppedError
from seqkit.progress_line import duration
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
        DataError: a stream that the jobs are to learn from cannot be read.
        OutputError: the sweep's folder cannot be made.
    """
    parent = _folder([one.config for one in configs])
    console = Console(all(one.config.quiet for one in configs))
    kept = _kept_streams([*again, *(word for words in sweep for word in words)], console)
    sweep, again = [_settled(words, kept) for words in sweep], _settled(again, kept)
    for one in configs:
        one.config.data.path = [kept.get(path, path) for path in one.config.data.path]
        one.config.prompt_file = kept.get(one.config.prompt_file or "", one.config.prompt_file)
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
            _separate()
        place = f"run {number + 1} of {len(jobs)}, in {job.files.path}"
        console.notice(f"\n=== multirun: {place}: {_own_words(job, jobs)} ===")
        before = _content(job.files.summary)
        code = execute(job.composed, job.words)
        if code in _STOPPED:
            job.outcome = "stopped"
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


def _kept_streams(words: Iterable[str], console: Console) -> dict[str, str]:
    """The file that stands for each stream: all jobs read it, and the first would use it up."""
    values = {
        value for key, _, value in (word.partition("=") for word in words) if key in _READ_ONCE
    }
    given = sorted(value for value in values if streams.is_stream(value))
    return dict(zip(given, streams.settled(given, disk.cache_dir(), console.notice), strict=True))


def _settled(words: Sequence[str], kept: Mapping[str, str]) -> list[str]:
    """A command line in which files stand for streams."""
    parts = [word.partition("=") for word in words]
    return [
        f"{key}{sign}{kept.get(value, value) if key in _READ_ONCE else value}"
        for key, sign, value in parts
    ]


def _own_words(job: Job, jobs: Sequence[Job]) -> str:
    """What was given to a job, and not to all of them."""
    common = set.intersection(*({*other.words} for other in jobs))
    return " ".join(word for word in job.words if word not in common) or "alone"


def _separate() -> None:
    """An empty line between samples that are piped; a terminal has the headings between them."""
    product = Product()
    if not product.terminal:
        product.write("\n\n")
        product.flush()


def _show_table(jobs: Sequence[Job], console: Console) -> None:
    rows = [_HEADINGS]
    rows += [
        (job.files.path.name, *_loss_and_time(job), job.outcome, _own_words(job, jobs))
        for job in jobs
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    console.notice("\n=== multirun: the whole sweep ===")
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        console.notice("  ".join(cells).rstrip())


def _loss_and_time(job: Job) -> tuple[str, str]:
    """The best validation loss, and the time of training, as far as a job came."""
    if job.outcome.startswith("failed"):
        return "-", "-"  # what is in its folder may be another run's
    try:
        events = Run(job.files.path).metrics
        losses = [event["loss"] for event in events if event["event"] == "validate"]
        best = f"{min(losses):.4f}" if losses else "-"
        return best, duration(events[-1]["seconds"])
    except (CheckpointError, LookupError, TypeError, ValueError):
        return "-", "-"


def _content(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None
