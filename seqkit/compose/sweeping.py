"""The command lines of a sweep's trainings, and the ranges that a search draws from."""

import itertools
import random
import shlex
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import IntervalSweep, Override, RangeSweep
from hydra.errors import HydraException

from seqkit import config as schema
from seqkit.compose.arguments import REPEATED, separate
from seqkit.foundation.errors import ConfigError

_LOG = "log"
_LISTS = [name for name, item in schema.options() if typing.get_origin(item.type) is list]
_OF_SWEEP = ("gpus", "jobs", "launcher", "search")  # keys and groups of the sweep itself


@dataclass(frozen=True)
class Choices:
    """Values to choose among, each as it stands on a command line."""

    values: tuple[str, ...]

    @property
    def extremes(self) -> tuple[str, ...]:
        """The values that have to be valid for all to be."""
        return self.values


@dataclass(frozen=True)
class Span:
    """The numbers from `low` to `high`, both included; integers where both are integers.

    With a `step` only low, low + step and so on; `log`: as many between 1 and 10 as between 10 and
    100.
    """

    low: float
    high: float
    step: float | None = None
    log: bool = False

    @property
    def extremes(self) -> tuple[str, ...]:
        """The values that have to be valid for all to be."""
        return repr(self.low), repr(self.high)


Domain = Choices | Span


@dataclass(frozen=True)
class Space:
    """What a search chooses: values of some keys; `words` has all other arguments."""

    words: Sequence[str]
    domains: Mapping[str, Domain]

    @property
    def extremes(self) -> list[list[str]]:
        """Command lines of which each has to be valid, so that all of the space are."""
        first = {key: f"{key}={domain.extremes[0]}" for key, domain in self.domains.items()}
        return [
            [*({**first, key: f"{key}={value}"}).values(), *self.words]
            for key, domain in self.domains.items()
            for value in domain.extremes
        ]


def is_of_sweep(argument: str) -> bool:
    """Whether an argument is for a sweep itself, not for its trainings."""
    return argument.partition("=")[0].partition(".")[0] in _OF_SWEEP


def refuse_keys_of_others(arguments: Sequence[str]) -> None:
    """Raise ConfigError where one training is given a key of many, or checkpoint=."""
    if of_sweep := [argument for argument in arguments if is_of_sweep(argument)]:
        raise ConfigError(f"{of_sweep[0]}: a key of --multirun, for several trainings")
    for key, _, value in (argument.partition("=") for argument in arguments):
        if key == "checkpoint":
            instead = shlex.quote(f"init_from={value}")
            raise ConfigError(
                f"checkpoint={value}: train does not read it: did you mean {instead}, a new run "
                "from those weights? run_dir=RUN resume=auto goes on with a run"
            )


def sweep(arguments: list[str], config_dirs: list[Path]) -> list[list[str]]:
    """The arguments of every run of a sweep: all combinations of what was given as a list.

    Each `data.path` that is given makes runs of its own.

    Raises:
        ConfigError: an argument that cannot be read, or one that only a search can take.
    """
    overrides, kept, paths = _read(arguments)
    choices = []
    for override in overrides:
        if override.is_interval_sweep():
            raise ConfigError(
                f"{override.input_line}: an interval needs search=optuna; without it give "
                "values, such as 0.001,0.003"
            )
        choices.append([f"{override.get_key_element()}={value}" for value in _values(override)])
    choices += [[word] for word in kept]
    return [[*run] for run in itertools.product(*choices, *([paths] if paths else []))]


def space(arguments: list[str], config_dirs: list[Path]) -> Space:
    """What a search draws from: the keys that are given as several values or as an interval.

    Raises:
        ConfigError: an argument that cannot be read, or a range without values.
    """
    overrides, kept, paths = _read(arguments)
    fixed: dict[str, str] = {}
    domains: dict[str, Domain] = {}
    for override in overrides:
        key = override.get_key_element()
        fixed.pop(key, None)
        domains.pop(key, None)  # the last value counts
        if override.is_sweep_override():
            domains[key] = _domain(override)
        else:
            fixed[key] = f"{key}={override.get_value_element_as_str()}"
    return Space([*fixed.values(), *kept, *paths], domains)


def _read(arguments: list[str]) -> tuple[list[Override], list[str], list[str]]:
    """Hydra's overrides, other words, and those of `data.path`. Raises ConfigError."""
    given, free = separate(arguments)
    kept = [f"{key}={value}" for key, value in free if key != REPEATED]
    lists = [(key, value) for key, value in given if key in _LISTS and "[" not in value]
    kept += [f"{key}={value}" for key, value in lists]
    paths = [f"{key}={value}" for key, value in free if key == REPEATED]
    parser, overrides = OverridesParser.create(), list[Override]()
    for key, value in given:
        try:
            if (key, value) not in lists:
                overrides += parser.parse_overrides([f"{key}={value}"])
        except HydraException as error:
            said = str(error).partition("\n")[0]
            raise ConfigError(f"{key}={value}: the value cannot be read: {said}") from error
    return overrides, kept, paths


def _values(override: Override) -> list[str]:
    """All values that an override stands for, in their order. Raises ConfigError without any."""
    if not override.is_sweep_override():
        return [override.get_value_element_as_str()]
    before = random.getstate()
    random.seed(0)  # shuffle(…) gives the same order again, when the sweep goes on
    try:
        values = [*override.sweep_string_iterator()]
    except HydraException as error:
        raise ConfigError(f"{override.input_line}: {error}") from error
    finally:
        random.setstate(before)
    if not values:
        raise ConfigError(f"{override.input_line}: there is no value in it")
    return values


def _domain(override: Override) -> Domain:
    """The values that an override stands for. Raises ConfigError where there are none."""
    value = override.value()
    if isinstance(value, IntervalSweep):
        low, high, log = value.start, value.end, _LOG in value.tags
        if low is None or high is None or not low < high or (log and low <= 0):
            raise ConfigError(
                f"{override.input_line}: give the smaller number first, and with log one above 0, "
                "as in interval(1e-4,1e-2)"
            )
        if _takes_integers(override.key_or_group) and low == int(low) and high == int(high):
            low, high = int(low), int(high)
        return Span(low, high, log=log)
    values = _values(override)
    if isinstance(value, RangeSweep) and len(values) > 1:
        numbers = sorted(float(f"{float(number):.12g}") for number in values)  # 0.9, not 0.899999…
        step = abs(float(value.step))
        if all(number == int(number) for number in (*numbers, step)):
            return Span(int(numbers[0]), int(numbers[-1]), int(step))
        return Span(numbers[0], numbers[-1], step)
    return Choices(tuple(values))


def _takes_integers(key: str) -> bool:
    return any(name == key and item.type in (int, int | None) for name, item in schema.options())
