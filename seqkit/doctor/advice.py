"""The command line to copy, and what it promises."""

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import torch

from seqkit.config import Config, DataConfig
from seqkit.data.corpus import Corpus
from seqkit.doctor import baselines, recommendation, speed, whole_recipes
from seqkit.doctor.examine import Examined
from seqkit.doctor.recommendation import Recommendation, Task
from seqkit.foundation import device, memory
from seqkit.foundation.command_line import command_line

_MINUTES = 5.0  # of training where train.max_minutes is not given


def advise(
    config: Config,
    examined: Examined,
    corpus: Corpus,
    chosen: torch.device,
    composed: Callable[[str], Config],
) -> dict[str, Any] | None:
    """What to train with this config's data on a device; None where there is nothing to learn.

    On a GPU that is a recipe made for one; where the recipe ends by the clock, it is that recipe.

    Args:
        config: with which the data were read.
        examined: what was found in the data.
        corpus: the data.
        chosen: the device to train on.
        composed: gives the config of a recipe as it is.
    """
    if examined.constant:
        return None
    codec, symbols = corpus.codec, len(examined.training)
    if chosen.type == "cuda":
        large = composed(whole_recipes.for_gpu(codec.kind, symbols))
        found = whole_recipes.on_gpu(large, codec, symbols, examined.baseline)
        return {**_command(config, large), **found}
    base, minutes = composed(config.recipe or ""), config.train.max_minutes or _MINUTES
    precision = device.candidate_precisions(config.train.precision, chosen)[0]
    if base.train.max_minutes:  # it brings a network that was made for such data
        words = [] if minutes == base.train.max_minutes else [f"train.max_minutes={minutes:g}"]
        given = codec, symbols, examined.baseline, 60 * minutes, precision
        return {**_command(config, base, *words), **whole_recipes.by_the_clock(base, *given)}
    network = recommendation.network(codec.size)
    measured = speed.measure(network, recommendation.LANES[codec.kind], precision)
    task = Task(
        kind=codec.kind,
        symbols=symbols,
        vocabulary=codec.size,
        baseline=examined.baseline,
        seconds=60 * minutes,
        precision=precision,
        free=memory.free_bytes(chosen),
        split=base.data.split if config.data.split == base.data.split else None,
    )
    advised = recommendation.recommend(task, measured)
    if split := advised.keys["data.split"]:  # the loss to expect is that of another validation part
        training, validation, _ = corpus.split(split)
        baseline = baselines.of_validation(training, validation, codec)
        advised = recommendation.recommend(replace(task, baseline=baseline), measured)
    return _as_values(config, base, advised, symbols)


def _as_values(config: Config, base: Config, found: Recommendation, symbols: int) -> dict[str, Any]:
    keys = {key: value for key, value in found.keys.items() if value is not None}
    keys = {key: value for key, value in keys.items() if value != _value(base, key)}
    words = [f"{key}={_written(value)}" for key, value in keys.items()]
    told = found.model, found.steps, found.read, symbols, found.seconds, found.expected
    return {
        **_command(config, base, *words),
        "keys": keys,
        **whole_recipes.facts(*told),
        "memory": found.memory,
        "measured_on": None,
    }


def _command(config: Config, base: Config, *words: str) -> dict[str, str]:
    """The command line that trains by a recipe with the data of a config."""
    recipe = base.recipe or config.recipe or ""  # one in a --config-dir has the defaults as base
    line = command_line(f"recipe={recipe}", *_data_words(config.data, base.data), *words)
    return {"command": line, "recipe": recipe}


def _data_words(data: DataConfig, base: DataConfig) -> list[str]:
    """The keys that say what the data are, and how they are read where a recipe does otherwise."""
    words = [f"data.path={path}" for path in data.path]
    for item in fields(DataConfig):
        value = getattr(data, item.name)
        if value == getattr(base, item.name) or item.name == "path":
            continue
        if item.name == "dataset" and data.path:  # which comes before it
            continue
        words.append(f"data.{item.name}={_written(value)}")
    return words


def _written(value: object) -> str:
    """A value as the command line takes it."""
    if isinstance(value, list):
        return ",".join(map(_written, value))
    if value is None:
        return "null"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _value(config: object, key: str) -> object:
    for name in key.split("."):
        config = getattr(config, name)
    return config
