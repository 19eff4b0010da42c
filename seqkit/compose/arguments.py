"""Arguments become one checked Config: plain ones as they stand, what else there is by Hydra.

Keys of free text never pass through its override grammar.
"""

import re
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from seqkit import config as schema
from seqkit.config import Config
from seqkit.foundation import config_file, dropped
from seqkit.foundation.catalogue import Catalogue, take_modules
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import KEYED, nearest

_PLACES = (  # that name files and folders
    *("checkpoint", "data.path", "init_from", "like", "out", "prompt_audio", "prompt_file"),
    *("run_dir", "runs"),
)
_WORDS = (
    *("column", "document", "label", "label_column", "leave_out", "pattern"),
    *("test", "validation"),
)
FREE_TEXT = (*_PLACES, *(f"data.{word}" for word in _WORDS), "label", "prompt", "until")
"""Keys whose values arrive letter for letter as the shell hands them over."""
REPEATED = "data.path"
"""One of them, each value of which counts; of the others the last one does."""
_POWER = re.compile(r"\+?(\d{1,10})e\+?(\d{1,2})", re.IGNORECASE)
"""1e3, which Hydra takes for a fraction."""
_WHOLE = r"-?(?:0|[1-9]\d{0,17})"
_PLAIN: tuple[tuple[type, re.Pattern[str], Callable[[str], object]], ...] = (
    (bool, re.compile("true|false"), "true".__eq__),
    (int, re.compile(_WHOLE), int),
    (float, re.compile(rf"{_WHOLE}(?:\.\d{{1,17}})?"), float),
    (str, re.compile("(?!(?i:true|false|null|nan|inf)$)[A-Za-z][A-Za-z0-9_]*"), str),
)
"""Of each type the values that mean to Hydra what they seem to."""


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
    arguments, modules = take_modules(arguments)
    overrides, free = separate(arguments)
    catalogue = Catalogue(modules)
    config = None if config_dirs else _plain(overrides)
    if config is None:
        from seqkit.compose.composing import composed_by_hydra

        config = composed_by_hydra(overrides, catalogue, config_dirs)
    _set_free_text(config, free)
    config.plugins = list(dict.fromkeys([*modules, *config.plugins]))
    if config.plugins != modules:  # a recipe names some, too
        catalogue = Catalogue(config.plugins)
    if config.train.max_minutes > 0:
        _lift_steps(config, given_keys(arguments))
    schema.check(config)
    return Composed(config, catalogue)


def _plain(overrides: list[str]) -> Config | None:
    """The defaults with what is set by plain words and numbers, which Hydra reads as they stand.

    None: it has to read these, or a recipe. It takes a quarter of a second.
    """
    config, known = Config(), dict(schema.options())
    for override in overrides:
        key, _, text = override.partition("=")
        if key not in known or key in ("recipe", "shape"):
            return None
        if typing.get_origin(known[key].type) is list:
            return None
        kinds = typing.get_args(known[key].type) or [known[key].type]
        reads = [read for kind, form, read in _PLAIN if kind in kinds and form.fullmatch(text)]
        if not reads:
            return None
        schema.set_value(config, key, reads[0](text))
    return config


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


def separate(arguments: list[str]) -> tuple[list[str], list[tuple[str, str]]]:
    """Hydra's overrides, and each key of free text with its value; every key is checked."""
    known, groups = [name for name, _ in schema.options()], schema.groups()
    whole = {name for name, item in schema.options() if item.type in (int, int | None)}
    overrides, free = [], []
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if not sign:
            raise ConfigError(
                f"{argument!r} is not key=value: {KEYED}; --help after the command lists its keys"
            )
        if said := dropped.instead(key, value):
            raise ConfigError(f"{argument}: that is gone: {said}")
        if key in FREE_TEXT:
            free.append((key, value))
            continue
        if key not in known and key not in groups:
            raise ConfigError(
                f"unknown key {key}{nearest(key, [*known, *groups])} --help after the command "
                "lists its keys"
            )
        if key == "data.split" and "[" not in value:
            value = f"[{value}]"  # else one list, or several of a sweep
        elif key in whole:
            value = ",".join(map(_whole, value.split(",")))
        overrides.append(f"{key}={value}")
    return overrides, free


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


def _whole(value: str) -> str:
    """A whole number that is written as 1e3 in digits; all else as it is."""
    power = _POWER.fullmatch(value)
    return str(int(power[1]) * 10 ** int(power[2])) if power else value
