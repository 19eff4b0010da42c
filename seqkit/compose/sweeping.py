"""The command lines of a sweep's trainings."""

import itertools
import shlex
import typing
from collections.abc import Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException

from seqkit import config as schema
from seqkit.compose.arguments import REPEATED, separate
from seqkit.foundation.errors import ConfigError

_LISTS = [name for name, item in schema.options() if typing.get_origin(item.type) is list]
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
        ConfigError: an argument that cannot be read, or that stands for no value.
    """
    refuse_keys_of_others(arguments)
    given, free = separate(arguments)
    choices = [_values(key, value) for key, value in given]
    choices += [[f"{key}={value}"] for key, value in free if key != REPEATED]
    paths = [f"{key}={value}" for key, value in free if key == REPEATED]
    return [[*run] for run in itertools.product(*choices, *([paths] if paths else []))]


def _values(key: str, value: str) -> list[str]:
    """The arguments that one stands for, by Hydra's grammar; a list is one value in brackets."""
    if key in _LISTS and "[" not in value:
        return [f"{key}={value}"]
    try:
        override = OverridesParser.create().parse_override(f"{key}={value}")
        if not override.is_sweep_override():
            return [f"{key}={value}"]
        values = [f"{key}={one}" for one in override.sweep_string_iterator()]
    except HydraException as error:
        said = str(error).partition("\n")[0]
        raise ConfigError(f"{key}={value}: the value cannot be read: {said}") from error
    if not values:
        raise ConfigError(f"{key}={value}: there is no value in it")
    return values
