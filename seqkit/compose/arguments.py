"""Arguments become one checked Config: keys as they are typed, a recipe by Hydra.

Keys of free text never pass through Hydra or OmegaConf.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from seqkit import config as schema
from seqkit.compose.recipes import recipe_files
from seqkit.config import Config
from seqkit.foundation import config_file, disk, dropped
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import KEYED, nearest, read_value

_PLACES = (  # that name files and folders
    *("checkpoint", "data.path", "init_from", "like", "out", "prompt_audio", "prompt_file"),
    *("run_dir", "runs"),
)
_WORDS = (
    *("column", "document", "label", "leave_out", "pattern"),
    *("test", "validation"),
)
FREE_TEXT = (*_PLACES, *(f"data.{word}" for word in _WORDS), "label", "prompt", "until")
"""Keys whose values arrive letter for letter as the shell hands them over."""
REPEATED = "data.path"
"""One of them, each value of which counts; of the others the last one does."""


class Composed(NamedTuple):
    """A checked config, and what can be named in it: its `plugins` are in the catalogue."""

    config: Config
    catalogue: Catalogue


def compose(arguments: list[str], config_dirs: list[Path]) -> Composed:
    """One config from `key=value` arguments, and the catalogue that it was made with.

    Args:
        arguments: as the shell hands them over.
        config_dirs: the user's folders, which come before seqkit's own and those of plug-ins.
            Recipes are looked for in a folder itself and in its `recipe` and `recipes`.

    Raises:
        ConfigError: an unknown key or recipe, a wrong type, a value out of range, or a faulty
            plug-in.
    """
    given, free = separate(arguments)
    items = dict(schema.options())
    choices = {key: text for key, text in given if key in groups()}
    values = {key: read_value(key, items[key], text) for key, text in given if key not in choices}
    config = Config()
    if choices:
        from seqkit.compose.by_hydra import composed  # which takes a quarter of a second

        config = composed(choices, values, recipe_files(config_dirs))
    for key, value in values.items():
        schema.set_value(config, key, value)
    _set_free_text(config, free)
    if config.train.max_minutes > 0:
        _lift_steps(config, given_keys(arguments))
    schema.check(config)
    return Composed(config, Catalogue(config.plugins))


def going_on(composed: Composed, stored: Config, arguments: Iterable[str]) -> Composed:
    """The config of a run that goes on without a recipe: its own, with the keys that are given.

    Args:
        composed: the config of the arguments alone.
        stored: the run's.
        arguments: of the command line.

    Raises:
        ConfigError: a value that does not suit the run's, or a plug-in that it needs is not named.
    """
    keys, by_the_clock = given_keys(arguments), stored.train.max_minutes > 0
    config_file.check_plugins(stored, composed.catalogue)
    config = config_file.with_given(stored, composed.config, keys)
    if config.train.max_minutes > 0 and not by_the_clock:
        _lift_steps(config, keys)
    schema.check(config)
    return composed._replace(config=config)


def _lift_steps(config: Config, keys: Iterable[str]) -> None:
    """Let the clock alone end a training, unless its steps were given, too."""
    if "train.max_steps" not in keys:
        config.train.max_steps = None


def given_keys(arguments: Iterable[str]) -> list[str]:
    """The keys that were typed, without values, each once."""
    return list(dict.fromkeys(argument.partition("=")[0] for argument in arguments))


def groups() -> list[str]:
    """Keys that choose a file of settings: a recipe, or a file in a folder of conf/."""
    folders = (folder.name for folder in disk.config_dir("conf").iterdir() if folder.is_dir())
    return ["recipe", *sorted(folders)]


def separate(arguments: Iterable[str]) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Keys with their values, and those of free text apart; every key is checked."""
    known = [*(name for name, _ in schema.options()), *groups()]
    given, free = list[tuple[str, str]](), list[tuple[str, str]]()
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if not sign:
            raise ConfigError(
                f"{argument!r} is not key=value: {KEYED}; --help after the command lists its keys"
            )
        if said := dropped.instead(key, value):
            raise ConfigError(f"{argument}: that is gone: {said}")
        if key not in known:
            raise ConfigError(
                f"unknown key {key}{nearest(key, known)} --help after the command lists its keys"
            )
        (free if key in FREE_TEXT else given).append((key, value))
    return given, free


def _set_free_text(config: Config, free: list[tuple[str, str]]) -> None:
    """Put the values of free text into the config, in the place of a recipe's."""
    for key, value in free:
        if "\0" in value:
            raise ConfigError(f"{key}: it contains a NUL character")
        if key in _PLACES and (value == "~" or value.startswith("~/")):
            raise ConfigError(
                f"{key}={value}: the shell left ~ as it is: write $HOME in its place "
                "(or ./~ for what is called so)"
            )
        if not value and key != "prompt":
            raise ConfigError(f"{key}= is empty: give a value, or leave the key out")
        if key != REPEATED:
            schema.set_value(config, key, value)
    if paths := [value for key, value in free if key == REPEATED]:
        config.data.path = paths
