"""Recipes and overrides become one checked Config.

Hydra composes `conf/config.yaml`, its groups and a recipe; its runner, logging and output
folders are not used. Keys of free text never pass through its override grammar.
"""

import re
import typing
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import NamedTuple

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException
from omegaconf import OmegaConf, ValidationError
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from seqkit import config as schema
from seqkit.compose.loading import choices, composed, configs
from seqkit.config import Config
from seqkit.foundation import config_file
from seqkit.foundation.catalogue import Catalogue, take_modules, user_recipe_folders
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import KEYED, nearest

_PLACES = (  # that name files and folders
    *("checkpoint", "data.path", "init_from", "like", "out", "prompt_audio", "prompt_file"),
    *("run_dir", "runs"),
)
_WORDS = ("column", "document", "label", "label_column", "pattern")
FREE_TEXT = (*_PLACES, *(f"data.{word}" for word in _WORDS), "label", "prompt", "until")
"""Keys whose values arrive letter for letter as the shell hands them over."""
REPEATED = "data.path"
"""One of them, each value of which counts; of the others the last one does."""
_POWER = re.compile(r"\+?(\d{1,10})e\+?(\d{1,2})", re.IGNORECASE)
"""1e3, which Hydra takes for a fraction."""
_NAMED = ("recipe", "shape")  # groups whose files set keys of the root; the name is kept
_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_RENAMED = "data.quantiser"  # in 0.1.0
_GROUPS = tuple(item.name for item in fields(Config) if is_dataclass(item.type))


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
    named: dict[str, str | None] = {}
    catalogue = Catalogue(modules)
    with configs(catalogue, config_dirs) as loader:
        for override in parse(overrides, loader):
            if override.is_sweep_override():
                raise ConfigError(
                    f"{override.input_line}: give one value; training takes several with --multirun"
                )
            _check_choice(override, loader, catalogue, config_dirs)
            if override.key_or_group in _NAMED:
                named[override.key_or_group] = str(override.value() or "") or None
        try:
            config = OmegaConf.to_object(composed(overrides))
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise ConfigError(explain(error)) from error
        except RecursionError as error:
            raise ConfigError(
                f"recipe={named.get('recipe')}: its defaults lead back to a recipe that they came "
                "from: give a recipe of your own another name than the one that it starts from"
            ) from error
    assert isinstance(config, Config)
    config.recipe, config.shape = (named.get(group) for group in _NAMED)
    _set_free_text(config, free)
    config.plugins = list(dict.fromkeys([*modules, *config.plugins]))
    if config.plugins != modules:  # a recipe names some, too
        catalogue = Catalogue(config.plugins)
    if config.train.max_minutes > 0:
        _lift_steps(config, given_keys(arguments))
    schema.check(config)
    return Composed(config, catalogue)


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
    known = [name for name, _ in schema.options()]
    whole = {name for name, item in schema.options() if item.type in (int, int | None)}
    overrides, free = [], []
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if not sign:
            raise ConfigError(
                f"{argument!r} is not key=value: {KEYED}; --help after the command lists its keys"
            )
        if key in FREE_TEXT:
            free.append((key, value))
            continue
        if key not in known and key not in _GROUPS:
            if key == _RENAMED:
                raise ConfigError(f"{key} is called data.codec now")
            raise ConfigError(
                f"unknown key {key}{nearest(key, [*known, *_GROUPS])} --help after the command "
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


def parse(overrides: list[str], loader: ConfigLoader) -> list[Override]:
    """Overrides as Hydra reads them. Raises ConfigError."""
    parser = OverridesParser.create(loader)
    parsed = []
    for override in overrides:
        try:
            parsed += parser.parse_overrides([override])
        except HydraException as error:
            raise ConfigError(f"{override}: the value cannot be read: {explain(error)}") from error
    return parsed


def _check_choice(
    override: Override, loader: ConfigLoader, catalogue: Catalogue, config_dirs: list[Path]
) -> None:
    """Refuse a recipe, or an option of a group, that does not exist or cannot be used."""
    group = override.key_or_group
    if override.type != OverrideType.CHANGE or group not in (*_GROUPS, *_NAMED):
        return
    choice = str(override.value())
    known = choices(loader, group)
    if group == "recipe" and choice in catalogue.names("recipes"):
        folders = user_recipe_folders(config_dirs)
        if not any((folder / f"{choice}.yaml").is_file() for folder in folders):
            catalogue.find("recipes", choice)
    if choice not in known:
        raise ConfigError(
            f"no {group} named {choice}{nearest(choice, known)} There are: {', '.join(known)}"
        )


def explain(error: BaseException) -> str:
    """The nearest name for a key that is not known; else the first line of each error."""
    errors = [error]
    if isinstance(error, HydraException) and (cause := error.__cause__ or error.__context__):
        errors.append(cause)
    keys = (str(key) for item in errors if (key := getattr(item, "full_key", None)))
    key = next(keys, "")
    if key and any(isinstance(item, ConfigAttributeError | ConfigKeyError) for item in errors):
        return f"unknown key {key}{nearest(key, [name for name, _ in schema.options()])}"
    lines = [str(item).strip().partition("\n")[0] for item in errors]
    item = dict(schema.options()).get(key.partition("[")[0])
    if item and any(isinstance(one, ValidationError) for one in errors):
        lines[0] = lines[0].removesuffix(": ValidationError raised while composing config:")
        kinds = typing.get_args(item.type) or [item.type]  # of a list its items'
        lines[-1] = "expected " + next(words for kind, words in _TYPES.items() if kind in kinds)
    said = ": ".join(line.removeprefix("Error merging override ") for line in lines if line)
    if key and key.partition("[")[0] not in said:
        said += f": key {key}"
    return said or type(error).__name__
