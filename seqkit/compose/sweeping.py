"""The command lines of a sweep's trainings."""

import itertools
import re
import shlex
import typing
from collections.abc import Sequence

from seqkit import config as schema
from seqkit.compose.arguments import REPEATED, separate
from seqkit.foundation.errors import ConfigError

_LISTS = [name for name, item in schema.options() if typing.get_origin(item.type) is list]
_BETWEEN = re.compile(r",(?![^\[]*\])")  # commas that are in no brackets
_OF_SWEEP = ("gpus", "jobs", "launcher")  # keys of the sweep itself


def is_of_sweep(argument: str) -> bool:
    """Whether an argument is for a sweep itself, not for its trainings."""
    return argument.partition("=")[0] in _OF_SWEEP


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


def sweep(arguments: Sequence[str]) -> list[list[str]]:
    """The arguments of every run of a sweep: all combinations of the values that were given.

    Each `data.path` that is given makes runs of its own.

    Raises:
        ConfigError: an argument that is not known, or lacks a value.
    """
    refuse_keys_of_others(arguments)
    given, free = separate(arguments)
    choices = [_values(key, value) for key, value in given]
    choices += [[f"{key}={value}"] for key, value in free if key != REPEATED]
    paths = [f"{key}={value}" for key, value in free if key == REPEATED]
    return [[*run] for run in itertools.product(*choices, *([paths] if paths else []))]


def _values(key: str, value: str) -> list[str]:
    """The arguments that one stands for: one for each value between commas, a list in brackets."""
    if key in _LISTS and "[" not in value:
        return [f"{key}={value}"]
    values = _BETWEEN.split(value)
    if not all(values):
        raise ConfigError(f"{key}={value}: there is a comma without a value beside it")
    return [f"{key}={one}" for one in values]
