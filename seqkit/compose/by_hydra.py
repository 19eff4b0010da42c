"""A recipe and other files of settings become one Config: Hydra composes them.

Hydra keeps its state in the process, and a program that calls seqkit may be an application of Hydra
itself: that state is put back.
"""

import contextlib
import functools
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.singleton import Singleton
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from seqkit import config as schema
from seqkit.compose.resolvers import register_resolvers
from seqkit.config import Config
from seqkit.foundation import config_file, disk, dropped
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import nearest

_TURN = threading.RLock()


def composed(
    choices: Mapping[str, str], values: Mapping[str, object], recipes: Mapping[str, Path]
) -> Config:
    """The config of files that are chosen and of keys that are given, not yet checked as a whole.

    Args:
        choices: a file's name for `recipe` or a folder of conf/.
        values: of keys, which files may refer to.
        recipes: the file of each recipe.

    Raises:
        ConfigError: there is no such file, or it does not fit the schema.
    """
    with _hydra() as store:
        store.store("schema", _schema())
        for group, name in choices.items():
            files = recipes if group == "recipe" else _files(group)
            if name not in files:
                there = f"There are: {', '.join(files)}"
                raise ConfigError(f"no {group} named {name}{nearest(name, [*files])} {there}")
        if recipe := choices.get("recipe"):
            _store(recipe, recipes)
        try:
            content = hydra.compose(
                "config", [f"{group}={name}" for group, name in choices.items()]
            )
            for key, value in values.items():
                OmegaConf.update(content, key, value)
            config = OmegaConf.to_object(content)
        except (HydraException, OmegaConfBaseException, ValueError) as error:
            raise ConfigError(_explain(error)) from error
    assert isinstance(config, Config)
    config.recipe = choices.get("recipe")
    return config


@contextlib.contextmanager
def _hydra() -> Iterator[ConfigStore]:
    """Hydra over conf/ in the block. What others stored, registered and initialised is put back."""
    with _TURN:
        before = Singleton.get_state()
        try:
            GlobalHydra.instance().clear()
            store = ConfigStore.instance()
            store.repo = {"hydra": store.repo["hydra"]}
            register_resolvers()
            with hydra.initialize_config_dir(str(disk.config_dir("conf")), version_base="1.3"):
                yield store
        finally:
            Singleton.set_state(before)


@functools.cache  # it takes as long as all else
def _schema() -> Any:
    return OmegaConf.structured(Config)


def _files(group: str) -> dict[str, Path]:
    return {file.stem: file for file in sorted(disk.config_dir("conf").glob(f"{group}/*.yaml"))}


def _store(name: str, recipes: Mapping[str, Path], above: tuple[str, ...] = ()) -> None:
    """Give a recipe, and those that it starts from, to Hydra. Raises ConfigError."""
    if name in above:
        raise ConfigError(
            f"recipe={above[0]}: its defaults lead back to a recipe that they came from: give a "
            "recipe of your own another name than the one that it starts from"
        )
    content = _read(recipes[name])
    for base in content.get("defaults") or []:
        if isinstance(base, str) and base in recipes:
            _store(base, recipes, (*above, name))
    ConfigStore.instance().store(name, content, group="recipe", package="_global_")


def _read(file: Path) -> Any:
    """A recipe, in which `data.path` may be a string or a list. Raises ConfigError."""
    try:
        content: Any = OmegaConf.to_container(OmegaConf.create(file.read_text("utf-8")))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not UTF-8") from error
    except yaml.YAMLError as error:
        raise ConfigError(config_file.explain(error, str(file))) from error
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: expected keys and values")
    if "hydra" in content:  # Hydra's own config, of which nothing is used
        raise ConfigError(f"{file}: unknown key hydra")
    for entry in content.get("defaults") or []:
        for group, choice in entry.items() if isinstance(entry, dict) else ():
            if said := dropped.instead(group.removeprefix("override /"), choice):
                raise ConfigError(f"{file}: {group}: {choice}: that is gone: {said}")
    if isinstance(data := content.get("data"), dict) and isinstance(path := data.get("path"), str):
        data["path"] = [path] if path else []
    return content


def _explain(error: BaseException) -> str:
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
    return ": ".join(line for item in errors if (line := str(item).strip().partition("\n")[0]))
