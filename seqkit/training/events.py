"""What a training reports while it runs, and how far it has come."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, TypeVar

from seqkit.foundation.errors import DivergedError
from seqkit.foundation.settings import check_type

_HOPELESS = 100  # updates left out, one after the other: no other is to be expected


@dataclass(frozen=True)
class Trained:
    """The mean loss (nats per symbol) of the updates since the last such event.

    `learning_rate` is that of the last update, and so is `gradient_norm`, before clipping; it is
    None if it overflowed fp16. `total_steps` is where the training will end, by a forecast where it
    ends by the clock (0: not known yet). Of the updates since the last such event, `left_out`
    changed no weights: their gradient had exploded (train.clip_norm) or overflowed fp16.
    """

    step: int
    symbols: int
    seconds: float
    loss: float
    symbols_per_second: float
    learning_rate: float
    gradient_norm: float | None
    total_steps: int
    left_out: int = 0


@dataclass(frozen=True)
class Validated:
    """The loss (nats per symbol) on the validation part; `improved` if it is the best yet.

    It is that of the better weights, raw or average, at the temperature found for them;
    `raw_loss` and `average_loss` (None without an average) are at temperature 1. It is the mean
    over `scored` symbols, of which the part has `total`.
    """

    step: int
    seconds: float
    loss: float
    bits_per_symbol: float
    improved: bool
    best_loss: float
    weights: str = "raw"
    temperature: float = 1.0
    raw_loss: float | None = None
    average_loss: float | None = None
    scored: int = 0
    total: int = 0


@dataclass(frozen=True)
class CheckpointDue:
    """A checkpoint is to be saved now."""

    step: int


@dataclass(frozen=True)
class SampleDue:
    """A validation is done and its checkpoint on its way: the moment for a sample."""

    step: int


@dataclass(frozen=True)
class Stepped:
    """A step is complete, with everything that was due after it: a good moment to stop."""

    step: int


Event = Trained | Validated | CheckpointDue | SampleDue | Stepped
"""In the order in which they come within a step."""


@dataclass
class TrainingProgress:
    """How far a training has come; a checkpoint keeps it beside the tensors."""

    step: int = 0
    symbols: int = 0
    seconds: float = 0.0
    reported_step: int = 0
    reported_symbols: int = 0
    reported_seconds: float = 0.0
    best_loss: float | None = None
    best_step: int = 0
    without_improvement: int = 0
    left_out: int = 0
    """How many updates before the last report, one after the other, were left out."""

    def report(
        self, loss: float, rate: float, norm: float, left_out: int, total_steps: int
    ) -> Trained:
        """Note a report, and tell of the updates since the one before it: see `Trained`.

        Raises DivergedError: there have long been none but such as were left out.
        """
        steps, seconds = self.step - self.reported_step, self.seconds - self.reported_seconds
        pace = (self.symbols - self.reported_symbols) / max(seconds, 1e-9)
        self.left_out = self.left_out + steps if left_out == steps else 0
        self.reported_step, self.reported_symbols = self.step, self.symbols
        self.reported_seconds = self.seconds
        if self.left_out >= _HOPELESS:
            raise DivergedError(
                f"none of the last {self.left_out} steps changed the weights at step {self.step}, "
                "as each gradient exploded or overflowed: the training diverged; try a smaller "
                "optimizer.lr"
            )
        known = norm if math.isfinite(norm) else None
        counts = self.step, self.symbols, self.seconds
        return Trained(*counts, loss, pace, rate, known, total_steps, left_out)

    def validated(self, loss: float) -> bool:
        """Note what the validation after the last step has found; whether it is the best so far."""
        improved = self.best_loss is None or loss < self.best_loss
        if improved:
            self.best_loss, self.best_step = loss, self.step
        self.without_improvement = 0 if improved else self.without_improvement + 1
        return improved


Record = TypeVar("Record")
_MOST = 2.0**53  # steps, symbols, seconds: beyond it a float does not count on


def read_record(kind: type[Record], name: str, values: Any) -> Record:
    """The record in the values of a state; what it does not have, from other versions, is left out.

    Raises:
        ConfigError: a value of another type.
        ValueError: a number that is not finite, or beyond all that is ever counted.
    """
    check_type(name, values, dict)
    names = {item.name for item in dataclasses.fields(kind)}  # type: ignore[arg-type]
    record = kind(**{key: value for key, value in values.items() if key in names})
    for item in dataclasses.fields(record):  # type: ignore[arg-type]
        value = getattr(record, item.name)
        check_type(f"{name}.{item.name}", value, item.type)
        if isinstance(value, int | float) and not abs(value) <= _MOST:
            raise ValueError(f"{name}.{item.name}={str(value)[:40]} is no number of a training")
    return record
