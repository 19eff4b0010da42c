"""Recipes that are recommended as they are: their time, and the loss to expect of them."""

import dataclasses
from typing import Any

from seqkit.config import Config, ModelConfig
from seqkit.data.codecs import Codec
from seqkit.doctor import speed
from seqkit.doctor.fit import Expected, expected_loss
from seqkit.doctor.recommendation import MOMENTS, TRAINING
from seqkit.model.char_rnn import count_parameters
from seqkit.training.footprint import TrainingShape

_LARGE = {"text": "shakespeare_large", "bytes": "text_large", "audio": "spoken_digits_large"}
_LARGE_TEXT = 2_000_000  # symbols from which text_large is the better of the two
_ON_H200 = {"shakespeare_large": 36.0, "text_large": 66.0, "spoken_digits_large": 86.0}
"""Seconds from the command to its end, see docs/results.md."""
_LEAST_LOSS = 0.05
"""Nats that are expected, below which the validation part is constant or repeats itself.

`CONSTANT_BITS` is another thing: what repeats itself may have many bits by frequency.
"""


def for_gpu(kind: str, symbols: int) -> str:
    """The recipe for a GPU that fits a training part of so many symbols."""
    return "text_large" if kind == "text" and symbols > _LARGE_TEXT else _LARGE[kind]


def on_gpu(recipe: Config, codec: Codec, symbols: int, baseline: float) -> dict[str, Any]:
    """What a recipe for a GPU comes to with a training part of so many symbols.

    Nothing is measured: the time is that of an H200, whose steps are no others with other data.
    `baseline` is `baselines.of_validation`, in bits a symbol.
    """
    model = _with_vocabulary(recipe, codec)
    steps = recipe.train.max_steps or 0
    read = steps * recipe.train.batch_size * recipe.train.sequence_length
    seconds = _ON_H200[recipe.recipe or ""]
    expected = expected_loss(codec.kind, baseline, read, symbols, codec.size)
    return {
        **facts(model, steps, read, symbols, seconds, expected),
        "memory": None,
        "measured_on": "an H200",
    }


def by_the_clock(
    recipe: Config, codec: Codec, symbols: int, baseline: float, seconds: float, precision: str
) -> dict[str, Any]:
    """What a recipe that ends by the clock comes to on this machine's CPU, whose speed is measured.

    Arguments are those of `on_gpu`; it trains for so many `seconds`, in a precision of
    fp32 or bf16. The fit knows no copies of sound, so the loss is beyond what it was made from.
    """
    model, train = _with_vocabulary(recipe, codec), recipe.train
    measured = speed.measure(model, train.batch_size, precision)
    steps = max(1, int(TRAINING * seconds / measured.step_seconds(model, train.sequence_length)))
    read = steps * train.batch_size * train.sequence_length
    expected = expected_loss(codec.kind, baseline, read, symbols, codec.size)._replace(within=False)
    shape = TrainingShape(
        model,
        MOMENTS,
        train.batch_size,
        train.sequence_length,
        precision,
        on_gpu=False,
    )
    return {
        **facts(model, steps, read, symbols, seconds, expected),
        "memory": shape.most,
        "measured_on": None,
    }


def facts(
    model: ModelConfig, steps: int, read: int, symbols: int, seconds: float, expected: Expected
) -> dict[str, Any]:
    """What is told of every recommendation; no loss where the validation part tells nothing."""
    told = expected.loss > _LEAST_LOSS
    return {
        "parameters": count_parameters(model),
        "steps": steps,
        "epochs": read / symbols,
        "seconds": seconds,
        "symbols_per_second": read / seconds,
        "expected_loss": expected.loss if told else None,
        "expected_between": [expected.low, expected.high] if told else None,
        "within_fit": expected.within,
    }


def _with_vocabulary(recipe: Config, codec: Codec) -> ModelConfig:
    return dataclasses.replace(recipe.model, vocabulary_size=codec.size)
