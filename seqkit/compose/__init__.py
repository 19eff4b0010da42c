"""Arguments become one checked Config, or those of a sweep: keys as typed, a recipe by Hydra.

Keys of free text never pass through Hydra or OmegaConf.
"""

import itertools
import os
import re
import shlex
import typing
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from seqkit import config as schema
from seqkit.config import Config
from seqkit.foundation import dropped
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import KEYED, nearest, read_value

_PLACES = (  # that name files and folders
    *("checkpoint", "data.path", "init_from", "out", "prompt_audio", "prompt_file"),
    *("run_dir", "runs"),
)
_WORDS = ("document", "label", "pattern", "test", "validation")
FREE_TEXT = (*_PLACES, *(f"data.{word}" for word in _WORDS), "label", "prompt", "until")
"""Keys whose values arrive letter for letter as the shell hands them over."""
_REPEATED = "data.path"
"""One of them, each value of which counts; of the others the last one does."""
_KIN = (("prompt", "prompt_file", "prompt_audio"), ("length", "seconds"))
"""Keys of which one replaces the others."""
_OF_A_COMMAND = ("json", "out", "overwrite", "plugins", "quiet", "resume", "run_dir")
"""Keys that hold for one command line, and not for the next."""
_OF_SWEEP = "launcher"  # the key of the sweep itself
_LISTS = [name for name, item in schema.options() if typing.get_origin(item.type) is list]
_BETWEEN = re.compile(r",(?![^\[]*\])")  # commas that are in no brackets


def compose(arguments: Sequence[str], config_dirs: list[Path]) -> Config:
    """One checked config from `key=value` arguments.

    Args:
        arguments: as the shell hands them over.
        config_dirs: the user's folders, which come before seqkit's own and those of plug-ins.
            Recipes are looked for in a folder itself and in its `recipe` and `recipes`.

    Raises ConfigError: an unknown key or recipe, a wrong type, or a value out of range.
    """
    given, items = _separate(arguments), dict(schema.options())
    recipe, literal = dict(given).get("recipe"), (*FREE_TEXT, "recipe")
    values = {key: read_value(key, items[key], text) for key, text in given if key not in literal}
    config = Config()
    if recipe is not None:
        from seqkit.compose.recipes import composed  # Hydra takes a quarter of a second

        config = composed(recipe, values, config_dirs)
        config.recipe = recipe
    replaced = dict.fromkeys(_kin(dict(given)))  # what the recipe has of them
    for key, value in (replaced | values | _free_text(given)).items():
        schema.set_value(config, key, value)
    config.given = tuple(dict.fromkeys(key for key, _ in given))
    schema.check(config)
    return config


def compose_training(arguments: Sequence[str], config_dirs: list[Path]) -> Config:
    """As `compose`, but a run that is to go on without a recipe has its own settings.

    Raises:
        ConfigError: as `compose`, there is no run in the folder, or a key is none of a training's.
        CheckpointError: the run's settings cannot be read.
    """
    asked = compose(arguments, config_dirs)
    for key, _, value in (argument.partition("=") for argument in arguments):
        _refuse_checkpoint(key, value)
        if key == _OF_SWEEP:
            raise ConfigError(f"{key}={value}: a key of --multirun, for several trainings")
    if asked.recipe or not asked.run_dir or asked.resume == "never":
        return asked
    from seqkit.runs.resume import read_config  # which takes half a second

    return with_given(read_config(Path(asked.run_dir)), asked)


def with_given(stored: Config, asked: Config) -> Config:
    """A run's own config with those keys that a command line gave.

    Raises ConfigError where the result cannot be trained.
    """
    by_the_clock, keys = stored.train.max_minutes > 0, asked.given
    stored.given, values = keys, schema.values_of(asked)
    for name in {*keys, *_kin(keys), *_OF_A_COMMAND}:
        schema.set_value(stored, name, values[name])
    if stored.train.max_minutes > 0 and not by_the_clock and "train.max_steps" not in keys:
        stored.train.max_steps = None
    schema.check(stored)
    return stored


def sweep(arguments: Sequence[str]) -> tuple[list[list[str]], list[str]]:
    """The arguments of every run of a sweep, and those of the sweep itself.

    The runs are all combinations of the values that were given; each `data.path` that is given
    makes runs of its own.

    Raises ConfigError: an argument that is not known, or lacks a value.
    """
    own, paths, choices = list[str](), list[str](), dict[str, list[str]]()
    for key, value in _separate(arguments):
        _refuse_checkpoint(key, value)
        if key == _OF_SWEEP:
            own.append(f"{key}={value}")
        elif key == _REPEATED:
            paths.append(f"{key}={value}")
        else:
            choices[key] = _choices(key, value)
    every = [*choices.values(), *([paths] if paths else [])]
    return [[*run] for run in itertools.product(*every)], own


def _separate(arguments: Sequence[str]) -> list[tuple[str, str]]:
    """Keys and the texts of their values. Raises ConfigError: a key is not known."""
    known = [name for name, _ in schema.options()]
    given = list[tuple[str, str]]()
    for number, argument in enumerate(arguments):
        key, sign, value = argument.partition("=")
        if not sign:
            rest = itertools.takewhile(lambda word: "=" not in word, arguments[number:])
            hint = _mended([*rest], given, known)
            raise ConfigError(f"{argument!r} is not key=value: {hint}")
        if not key:
            raise ConfigError(f"{argument}: give the name of a key before =")
        if said := dropped.instead(key, value):
            raise ConfigError(f"{argument}: that is gone: {said}")
        if key not in known:
            raise ConfigError(
                f"unknown key {key}{nearest(key, known)} --help after the command lists its keys"
            )
        given.append((key, value))
    return given


def _mended(words: list[str], before: Sequence[tuple[str, str]], known: Collection[str]) -> str:
    """How to write words that are no key=value."""
    if words[0] in known:
        return f"give {words[0]}=VALUE, without blanks around ="
    if before and before[-1][0] in FREE_TEXT:
        key, value = before[-1]
        whole = " ".join([value, *words])
        if key not in _PLACES or os.path.lexists(whole):
            return f"quote a value with blanks, as in {shlex.quote(f'{key}={whole}')}"
    return f"{KEYED}; --help after the command lists its keys"


def _free_text(given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """The values of free text. Raises ConfigError: one can be none."""
    values: dict[str, Any] = {}
    for key, value in given:
        if key not in FREE_TEXT:
            continue
        if "\0" in value:
            raise ConfigError(f"{key}: it contains a NUL character")
        if key in _PLACES and (value == "~" or value.startswith("~/")):
            raise ConfigError(
                f"{key}={value}: the shell left ~ as it is: write $HOME in its place "
                "(or ./~ for what is called so)"
            )
        if not value and key != "prompt":
            raise ConfigError(f"{key}= is empty: give a value, or leave the key out")
        if key == "runs" and key in values:
            raise ConfigError("runs= is there twice: give their folder, or a glob: runs='runs/*'")
        values[key] = [*values.get(key, []), value] if key == _REPEATED else value
    return values


def _kin(keys: Collection[str]) -> set[str]:
    """Keys that are given, and those that they replace."""
    return {key for kin in _KIN if {*kin} & {*keys} for key in kin}


def _refuse_checkpoint(key: str, value: str) -> None:
    """Raise ConfigError where a training is given checkpoint=."""
    if key == "checkpoint":
        instead = shlex.quote(f"init_from={value}")
        raise ConfigError(
            f"checkpoint={value}: train does not read it: did you mean {instead}, a new run "
            "from those weights? run_dir=RUN resume=auto goes on with a run"
        )


def _choices(key: str, value: str) -> list[str]:
    """The arguments that one stands for: one for each value between commas, a list in brackets."""
    if key in FREE_TEXT or (key in _LISTS and "[" not in value):
        return [f"{key}={value}"]
    values = _BETWEEN.split(value)
    if not all(values):
        raise ConfigError(f"{key}={value}: there is a comma without a value beside it")
    return [f"{key}={one}" for one in values]
