"""What `--multirun` is asked for: its own keys, and the trainings; checked before any begins."""

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seqkit import compose
from seqkit.compose import Composed, Space
from seqkit.config import Config
from seqkit.foundation.errors import ConfigError
from seqkit.runs.record import DATA_KEYS
from seqkit.sweeps import study
from seqkit.sweeps.jobs import Job

_DATA_ITSELF = ("data.dataset", "data.path", "data.pattern")


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

    @property
    def total(self) -> int:
        """How many jobs there will be."""
        return self.config.search.trials if self.space else len(self.lines)

    def jobs(self, folder: Path) -> list[Job]:
        """The jobs of all lines, each with a numbered folder in this one."""
        common = set.intersection(*map(set, self.lines))
        own = [" ".join(word for word in words if word not in common) for words in self.lines]
        return [
            Job.at(folder / str(number), composed, words, own[number])
            for number, (composed, words) in enumerate(zip(self.composed, self.lines, strict=True))
        ]

    def compose(self, words: list[str]) -> Composed:
        """The config of a job's command line."""
        return compose.compose(words, self.config_dirs)


def planned(words: Sequence[str], config_dirs: list[Path]) -> Plan:
    """The sweep that a command line asks for.

    Raises:
        ConfigError: a key, a value or a range that is not valid.
    """
    rest = [word for word in words if not compose.is_of_sweep(word)]
    own = compose.compose([word for word in words if compose.is_of_sweep(word)], config_dirs).config
    space = compose.space(rest, config_dirs) if own.search.kind == "optuna" else None
    if space:
        study.require()
        if not space.domains:
            raise ConfigError(
                "search=optuna: no key to search: give a range, such as "
                "optimizer.lr='tag(log,interval(1e-4,1e-2))' or model.num_layers=1,2,3"
            )
    lines = space.extremes if space else compose.sweep(rest, config_dirs)
    first = compose.compose(lines[0], config_dirs).config
    # A job that is started again, as by the same line or by Slurm, goes on where it stood.
    resume = "resume=force" if first.resume == "force" else "resume=auto"
    lines = [_going_on(line, resume) for line in lines]
    if space:
        space = dataclasses.replace(space, words=_going_on(space.words, resume))
    composed = [compose.compose(line, config_dirs) for line in lines]
    if space:
        _check_same_data(lines, composed)
    config = dataclasses.replace(
        first, launcher=own.launcher, search=own.search, gpus=own.gpus, jobs=own.jobs
    )
    _check_launcher(config)
    begins_anew = first.overwrite or "resume=never" in rest
    return Plan(config, space, lines, composed, config_dirs, begins_anew)


def _going_on(words: Sequence[str], resume: str) -> list[str]:
    left_out = ("resume", "overwrite")
    return [*(word for word in words if word.partition("=")[0] not in left_out), resume]


def _check_launcher(config: Config) -> None:
    kind, at_once = config.launcher.kind, config.gpus or config.jobs
    if kind == "serial" and at_once:
        key = "gpus" if config.gpus else "jobs"
        raise ConfigError(f"{key}={at_once}: give launcher=local or launcher=slurm, too")
    if kind != "serial" and (config.gpus is None) == (config.jobs is None):
        raise ConfigError(
            f"launcher={kind}: how many jobs at once? give gpus=N (a GPU each) or jobs=N"
        )
    if config.gpus and config.device not in ("auto", "cuda"):
        raise ConfigError(f"device={config.device}: gpus= gives each job a GPU: leave device out")


def _check_same_data(lines: Sequence[Sequence[str]], composed: Sequence[Composed]) -> None:
    """Raise ConfigError where the losses of a search would not be measured on one set of data."""
    keys = [key.removeprefix("data.") for key in (*DATA_KEYS, *_DATA_ITSELF)]
    first, *others = [[getattr(one.config.data, key) for key in keys] for one in composed]
    for line, values in zip(lines[1:], others, strict=True):
        if values != first:
            word = next(word for word in line if word not in lines[0])
            raise ConfigError(
                f"{word}: losses on other data cannot be compared: search=optuna needs one value"
            )
    data = composed[0].config.data
    if data.path and not data.split[1]:
        raise ConfigError(f"data.split={data.split}: search=optuna needs a validation part")
