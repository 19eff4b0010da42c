"""The command line to copy, and what it promises."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import torch

from seqkit import device, memory
from seqkit.command_line import command_line
from seqkit.config import Config, DataConfig
from seqkit.data.codecs import Codec
from seqkit.doctor import recommendation, speed
from seqkit.doctor.examine import Examined
from seqkit.doctor.recommendation import Recommendation, Task
from seqkit.model.char_rnn import count_parameters

_MINUTES = 5.0  # of training where train.max_minutes is not given
_LARGE = {"text": "shakespeare_large", "bytes": "text_large", "audio": "spoken_digits_large"}
_LEAST_LOSS = 0.05  # nats; below it the validation part is nearly constant, and tells nothing
_LARGE_TEXT = 2_000_000  # symbols from which text_large is the better of the two


def advise(
    config: Config,
    examined: Examined,
    codec: Codec,
    chosen: torch.device,
    composed: Callable[[str], Config],
) -> dict[str, Any] | None:
    """What to train with this config's data on a device; None where there is nothing to learn.

    On a GPU that is a recipe made for one, of which docs/results.md tells the losses.

    Args:
        config: with which the data were read.
        examined: the data.
        codec: theirs.
        chosen: the device to train on.
        composed: gives the config of a recipe as it is.
    """
    if examined.constant:
        return None
    minutes = config.train.max_minutes or _MINUTES
    if chosen.type == "cuda":
        recipe = _LARGE[codec.kind]
        if codec.kind == "text" and len(examined.training) > _LARGE_TEXT:
            recipe = "text_large"
        line = command_line(f"recipe={recipe}", *_data_words(config.data, composed(recipe).data))
        return {"command": line, "recipe": recipe, "expected_loss": None, "seconds": None}
    precision = device.candidate_precisions(config.train.precision, chosen)[0]
    network = recommendation.network(codec.size)
    measured = speed.measure(network, recommendation.LANES[codec.kind], precision)
    task = Task(
        kind=codec.kind,
        symbols=len(examined.training),
        vocabulary=codec.size,
        baseline=examined.baseline,
        seconds=60 * minutes,
        precision=precision,
        free=memory.free_bytes(chosen),
    )
    found = recommendation.recommend(task, measured)
    return _as_values(config, composed(config.recipe or ""), found)


def _as_values(config: Config, base: Config, found: Recommendation) -> dict[str, Any]:
    keys = {key: value for key, value in found.keys.items() if value is not None}
    keys = {key: value for key, value in keys.items() if value != _value(base, key)}
    words = [f"{key}={_written(value)}" for key, value in keys.items()]
    expected = found.expected
    told = expected.loss > _LEAST_LOSS
    return {
        "command": command_line(
            f"recipe={config.recipe}", *_data_words(config.data, base.data), *words
        ),
        "recipe": config.recipe,
        "keys": keys,
        "parameters": count_parameters(found.model),
        "steps": found.steps,
        "epochs": found.epochs,
        "seconds": found.seconds,
        "symbols_per_second": found.read / found.seconds,
        "memory": found.memory,
        "expected_loss": expected.loss if told else None,
        "expected_between": [expected.low, expected.high] if told else None,
        "within_fit": expected.within,
    }


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
