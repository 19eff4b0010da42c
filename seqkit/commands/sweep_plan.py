"""What `--multirun` is asked for: its own keys, and the trainings; checked before any begins."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from seqkit import compose
from seqkit.compose import Composed, Space
from seqkit.config import Config
from seqkit.foundation.errors import ConfigError
from seqkit.runs.record import DATA_KEYS
from seqkit.sweeps import local, study
from seqkit.sweeps.jobs import Job

_OF_OPTUNA = ("search.trials", "search.prune")
_DATA_ITSELF = ("data.dataset", "data.path", "data.pattern")


@dataclass(frozen=True)
class Plan:
    """A sweep.

    config: the sweep's own keys, beside those of its first job.
    space: what a search chooses.
    lines: the command line of every job; of a search, of those at the ends of its ranges.
    composed: their configs.
    begins_anew: whether it is not to go on with runs that are in its folder.
    """

    config: Config
    space: Space
    lines: Sequence[Sequence[str]]
    composed: Sequence[Composed]
    config_dirs: list[Path]
    begins_anew: bool

    @property
    def searches(self) -> bool:
        """Whether the settings are chosen one after the other."""
        return self.config.search.kind == "optuna"

    @property
    def total(self) -> int:
        """How many jobs there will be."""
        return self.config.search.trials if self.searches else len(self.lines)

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
    own = [word for word in words if compose.is_of_sweep(word)]
    rest = [word for word in words if not compose.is_of_sweep(word)]
    keys = compose.given_keys(words)
    if several := [*compose.space(own, config_dirs).domains]:
        raise ConfigError(f"{several[0]}: a sweep takes one value of it, not several")
    config = compose.compose([*_first(compose.space(rest, config_dirs)), *own], config_dirs).config
    begins_anew = config.overwrite or (config.resume == "never" and "resume" in keys)
    # A job that is started again, as by the same line or by Slurm, goes on where it stood.
    rest = [word for word in rest if word.partition("=")[0] not in ("resume", "overwrite")]
    rest.append("resume=force" if config.resume == "force" else "resume=auto")
    space = compose.space(rest, config_dirs)
    _check_launcher(config, keys)
    searches = config.search.kind == "optuna"
    if searches:
        _check_search(config, space)
        lines = space.extremes
    elif given := [key for key in _OF_OPTUNA if key in keys]:
        raise ConfigError(f"{given[0]}: a key of search=optuna: give that, too")
    else:
        lines = compose.sweep(rest, config_dirs)
    composed = [compose.compose(line, config_dirs) for line in lines]
    if searches:
        _check_same_data(lines, composed)
    return Plan(config, space, lines, composed, config_dirs, begins_anew)


def _first(space: Space) -> Sequence[str]:
    """The command line of one of the jobs."""
    return space.extremes[0] if space.domains else space.words


def _check_launcher(config: Config, keys: Collection[str]) -> None:
    launcher, at_once = config.launcher, config.gpus or config.jobs
    if launcher.kind == "serial" and at_once:
        key = "gpus" if config.gpus else "jobs"
        raise ConfigError(f"{key}={at_once}: give launcher=local or launcher=slurm, too")
    if launcher.kind != "serial" and not at_once:
        raise ConfigError(
            f"launcher={launcher.kind}: how many jobs at once? give gpus=N (a GPU each) or jobs=N"
        )
    if config.gpus and config.jobs:
        raise ConfigError("gpus= and jobs=: each says how many jobs run at once: give one of them")
    if config.gpus:
        local.check_device(config.device)
    of_slurm = [key for key in keys if key.startswith("launcher.") and key != "launcher.kind"]
    if launcher.kind != "slurm" and of_slurm:
        raise ConfigError(f"{of_slurm[0]}: a key of launcher=slurm: give that, too")


def _check_search(config: Config, space: Space) -> None:
    study.require()
    if not space.domains:
        raise ConfigError(
            "search=optuna: no key to search: give a range, such as "
            "optimizer.lr='tag(log,interval(1e-4,1e-2))' or model.num_layers=1,2,3"
        )
    if len(config.data.path) > 1:
        raise ConfigError("data.path: search=optuna compares losses on one: give a file or folder")
    split = config.data.split
    if config.data.path and len(split) > 1 and not split[1]:
        raise ConfigError(f"data.split={split}: search=optuna needs a validation part")


def _check_same_data(lines: Sequence[Sequence[str]], composed: Sequence[Composed]) -> None:
    """Raise ConfigError where the losses of a search would not be measured on the same data."""
    keys = [key.removeprefix("data.") for key in (*DATA_KEYS, *_DATA_ITSELF)]
    first, *others = [[getattr(one.config.data, key) for key in keys] for one in composed]
    for line, values in zip(lines[1:], others, strict=True):
        if values != first:
            word = next(word for word in line if word not in lines[0])
            raise ConfigError(
                f"{word}: losses on other data cannot be compared: search=optuna needs one value"
            )
