"""Recipes and overrides become one Config.

Hydra composes `conf/config.yaml`, its groups and a recipe; its runner, logging and output
folders are not used.
"""

import typing
from dataclasses import Field
from pathlib import Path
from typing import Any

from hydra.core.config_loader import ConfigLoader
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.errors import HydraException
from omegaconf import OmegaConf, ValidationError
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from seqkit import config as schema
from seqkit.compose.loading import choices, composed, configs
from seqkit.config import Config
from seqkit.foundation import dropped
from seqkit.foundation.catalogue import Catalogue, user_recipe_folders
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import nearest

_NAMED = ("recipe", "shape")  # groups whose files set keys of the root; the name is kept
_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}


def composed_by_hydra(
    overrides: list[str], catalogue: Catalogue, config_dirs: list[Path]
) -> Config:
    """The config of overrides, not yet checked as a whole. Raises as `arguments.compose`."""
    named: dict[str, str | None] = {}
    with configs(catalogue, config_dirs) as loader:
        for override in parse(overrides, loader):
            if override.is_sweep_override():
                key, wanted = override.key_or_group, "one value"
                if key in (known := dict(schema.options())) and _is_list(known[key]):
                    wanted = f"a list, as in {key}=[a,b]"
                raise ConfigError(
                    f"{override.input_line}: give {wanted}; training takes several with --multirun"
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
    return config


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
    if override.type != OverrideType.CHANGE or group not in (*schema.groups(), *_NAMED):
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
        if said := dropped.instead(key):
            return f"{key}: that is gone: {said}"
        return f"unknown key {key}{nearest(key, [name for name, _ in schema.options()])}"
    lines = [str(item).strip().partition("\n")[0] for item in errors]
    item = dict(schema.options()).get(key.partition("[")[0])
    if item and any(isinstance(one, ValidationError) for one in errors):
        lines[0] = lines[0].removesuffix(": ValidationError raised while composing config:")
        kinds = typing.get_args(item.type) or [item.type]  # of a list its items'
        lines[-1] = "expected " + next(words for kind, words in _TYPES.items() if kind in kinds)
        if _is_list(item) and "[" not in key:
            lines[-1] = f"expected a list, as in {key}=[a,b]"
    said = ": ".join(line.removeprefix("Error merging override ") for line in lines if line)
    if key and key.partition("[")[0] not in said:
        said += f": key {key}"
    return said or type(error).__name__


def _is_list(item: Field[Any]) -> bool:
    return typing.get_origin(item.type) is list
