"""The command lines of a sweep's trainings."""

from pathlib import Path

from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
from hydra.errors import HydraException

from seqkit.compose.composing import REPEATED, explain, loader, parse, separate
from seqkit.errors import ConfigError
from seqkit.plugins import Catalogue, take_modules


def sweep(arguments: list[str], config_dirs: list[Path]) -> list[list[str]]:
    """The arguments of every run of a sweep: all combinations of what was given as a list.

    Each `data.path` that is given makes runs of its own.
    """
    arguments, modules = take_modules(arguments)
    overrides, free = separate(arguments)
    kept = [f"{key}={value}" for key, value in free if key != REPEATED]
    kept += [f"plugins={module}" for module in modules]
    repeated = [[f"{key}={value}"] for key, value in free if key == REPEATED]
    with loader(Catalogue(modules), config_dirs):
        try:
            batches = BasicSweeper.split_arguments(parse(overrides), None)
        except HydraException as error:
            raise ConfigError(explain(error)) from error
    runs = [run for batch in batches for run in batch]
    return [[*run, *kept, *path] for run in runs for path in repeated or [[]]]
