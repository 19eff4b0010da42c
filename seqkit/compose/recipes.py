"""Recipes: where they lie, and how Hydra composes one, and those that it starts from, to a Config.

Hydra keeps its state in the process, and a program that calls seqkit may be an application of Hydra
itself: that state is put back.
"""

import contextlib
import dataclasses
import shlex
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.singleton import Singleton
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seqkit.config import Config
from seqkit.foundation import disk
from seqkit.foundation.config_file import fill
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import nearest

_TURN = threading.RLock()
_LONGEST, _BRACKETS = 100_000, 500  # bytes of a recipe, and [ and { in it


def recipe_files(config_dirs: Sequence[Path]) -> dict[str, Path]:
    """The file of each recipe by its name; of several with one name that of the first folder.

    The folders of `--config-dir` come first, each with its `recipe` and `recipes`, then seqkit's.

    Raises ConfigError: a folder of `--config-dir` is not there.
    """
    folders = list[Path]()
    for folder in config_dirs:
        if not folder.is_dir():
            raise ConfigError(f"--config-dir {folder}: no such folder")
        folders += [folder / "recipe", folder / "recipes", folder]
    folders.append(disk.config_dir("recipes"))
    files = [file for folder in folders for file in folder.glob("*.yaml") if file.is_file()]
    return dict(sorted({file.stem: file for file in reversed(files)}.items()))


def described(config_dirs: Sequence[Path]) -> dict[str, str]:
    """The recipes by name, each with the first comment of its file that is not a directive."""
    found = {}
    for name, file in recipe_files(config_dirs).items():
        lines = file.read_text("utf-8", "replace").splitlines()
        comments = (line[1:].strip() for line in lines if line[:1] == "#")
        found[name] = next((line for line in comments if line[:1] != "@"), "")
    return found


def composed(recipe: str, values: Mapping[str, object], config_dirs: Sequence[Path]) -> Config:
    """The config of a recipe and of the keys that are given, not yet checked as a whole.

    Recipes may refer to these keys.

    Raises:
        ConfigError: there is no such recipe or folder, or it cannot be read, or a key is not known.
    """
    recipes = recipe_files(config_dirs)
    _check_named(recipe, recipes)
    with _hydra() as store:
        store.store("schema", dataclasses.asdict(Config()))
        given = list[str]()
        for content in _store(recipe, recipes):
            keys = content.get("train")
            given += keys if isinstance(keys, dict) else []
            if "max_minutes" in given:
                break
        both = "max_steps" in given  # beside the minutes, or nearer: else these replace steps
        try:
            content = hydra.compose("config", [f"recipe={recipe}"])
            minutes = not both and OmegaConf.select(content, "train.max_minutes")
            if values.get("train.max_minutes", minutes):
                OmegaConf.update(content, "train.max_steps", None)
            for key, value in values.items():
                OmegaConf.update(content, key, value)
            found: Any = OmegaConf.to_container(content, resolve=True)
            config = Config()
            fill(config, found)
        except (HydraException, OmegaConfBaseException, ConfigError, ValueError) as error:
            said = str(error).strip().partition("\n")[0]
            raise ConfigError(f"recipe={recipe}: {said}") from error
    return config


def _check_named(name: str, recipes: Mapping[str, Path], place: str = "") -> None:
    """Raise ConfigError, which begins with the place, where no recipe has the name."""
    if name not in recipes:
        file, hint = Path(name), nearest(name, [*recipes])
        if file.suffix == ".yaml":
            given = shlex.join(["--config-dir", str(file.parent), f"recipe={file.stem}"])
            hint = f": of a file give folder and name: {given}."
        there = f"There are: {', '.join(recipes)}"
        raise ConfigError(f"{place}no recipe named {name}{hint} {there}")


@contextlib.contextmanager
def _hydra() -> Iterator[ConfigStore]:
    """Hydra over conf/ in the block. What others stored and registered is put back."""
    with _TURN:
        before = Singleton.get_state()
        try:
            GlobalHydra.instance().clear()
            store = ConfigStore.instance()
            store.repo = {"hydra": store.repo["hydra"]}
            with hydra.initialize_config_dir(str(disk.config_dir("conf")), version_base="1.3"):
                yield store
        finally:
            Singleton.set_state(before)


def _store(name: str, recipes: Mapping[str, Path], above: tuple[str, ...] = ()) -> list[Any]:
    """Give a recipe, and those that it starts from, to Hydra: what they say, the nearest first.

    Raises ConfigError.
    """
    if name in above:
        raise ConfigError(
            f"recipe={above[0]}: its defaults lead back to a recipe that they came from: give a "
            "recipe of your own another name than the one that it starts from"
        )
    content = _read(recipes[name])
    said, bases = [content], content.get("defaults")
    for base in reversed(bases) if isinstance(bases, list) else ():
        if isinstance(base, str) and base != "_self_":
            _check_named(base, recipes, f"{recipes[name]}: ")
            said += _store(base, recipes, (*above, name))
    ConfigStore.instance().store(name, content, group="recipe", package="_global_")
    return said


def _read(file: Path) -> Any:
    """The keys and values of a recipe. Raises ConfigError."""
    try:
        with file.open("rb") as stream:
            text = stream.read(_LONGEST + 1).decode()
        small = len(text) <= _LONGEST and sum(map(text.count, "[{")) <= _BRACKETS
        if not small or any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text)):
            limits = f"at most {_LONGEST:,} bytes and {_BRACKETS} brackets, and no aliases, as *a"
            raise ConfigError(f"{file}: a recipe has {limits}")  # others may take all memory
        content: Any = OmegaConf.to_container(OmegaConf.create(text))
    except RecursionError as error:
        raise ConfigError(f"{file}: it is nested too deeply") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not UTF-8") from error
    except yaml.YAMLError as error:
        where = getattr(error, "problem_mark", None)
        line = f", line {where.line + 1}" if where else ""
        reason = getattr(error, "problem", None) or getattr(error, "reason", None)
        said = reason or "it cannot be parsed"
        raise ConfigError(f"{file}{line}: not valid YAML: {said}") from error
    except OmegaConfBaseException as error:
        said = str(error).partition("\n")[0]
        raise ConfigError(f"{file}: expected keys and values: {said}") from error
    if not isinstance(content, dict):
        raise ConfigError(f"{file}: expected keys and values")
    if "hydra" in content:  # Hydra's own config, of which nothing is used
        raise ConfigError(f"{file}: unknown key hydra")
    if not isinstance(content.get("defaults") or [], list):
        raise ConfigError(f"{file}: defaults must be a list, of recipes")
    return content
