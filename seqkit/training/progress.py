"""How far a training has come."""

import dataclasses
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from seqkit.foundation.errors import DivergedError
from seqkit.foundation.settings import check_type
from seqkit.training.schedule import ElapsedTime

_HOPELESS = 100  # updates left out, one after the other: no other is to be expected


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
    best_weights: str | None = None
    best_temperature: float | None = None
    without_improvement: int = 0
    since: int = 0
    """The step from which on losses can be compared: there the best one was forgotten."""
    scored: int | None = None
    """Symbols scored by each validation, set when one begins; None before the first."""
    left_out: int = 0
    """How many updates before the last report, one after the other, were left out."""
    validating: bool = False
    """The validation after this step has begun and is not done: a stop came in its middle."""

    def reported(self, left_out: int) -> None:
        """Note a report, and how many of the updates since the one before it were left out.

        Raises:
            DivergedError: there have been none but such for long.
        """
        steps = self.step - self.reported_step
        self.left_out = self.left_out + steps if left_out == steps else 0
        self.reported_step, self.reported_symbols = self.step, self.symbols
        self.reported_seconds = self.seconds
        if self.left_out >= _HOPELESS:
            raise DivergedError(
                f"none of the last {self.left_out} steps changed the weights at step {self.step}, "
                "as each gradient exploded or overflowed: the training diverged; try a smaller "
                "optimizer.lr"
            )

    def validated(self, loss: float, weights: str, temperature: float) -> bool:
        """Note what the validation after the last step has found; whether it is the best so far."""
        improved = self.best_loss is None or loss < self.best_loss
        if improved:
            self.best_loss, self.best_step = loss, self.step
            self.best_weights, self.best_temperature = weights, temperature
        self.without_improvement = 0 if improved else self.without_improvement + 1
        return improved

    def forget_best(self) -> None:
        """Judge by other data from now on: the best loss so far means nothing to it."""
        self.best_loss, self.best_step, self.since = None, 0, self.step
        self.without_improvement = 0


Record = TypeVar("Record")
_MOST = 2.0**53  # steps, symbols, seconds: beyond it a float does not count on
_LONGEST = 40  # characters of a wrong number in a message
_ANY_SIGN = ("best_loss",)  # of one that is all but 0, rounding may decide
_OF_KEYS = ("budget",)  # seconds that train.max_minutes gave, however many


def read_numbers(values: Mapping[str, Any]) -> tuple[TrainingProgress, ElapsedTime]:
    """How far a training has come and what time it took, from the values of its state.

    Raises:
        ConfigError: a value of another type.
        ValueError: a number that is not finite, below 0, or beyond all that is ever counted.
    """
    progress = _read(TrainingProgress, "progress", values.get("progress"))
    return progress, _read(ElapsedTime, "time", values.get("time"))


def _read(kind: type[Record], name: str, values: Any) -> Record:
    """The record in these values; what it does not have, from other versions, is passed over."""
    check_type(name, values, dict)
    names = {item.name for item in dataclasses.fields(kind)}  # type: ignore[arg-type]
    record = kind(**{key: value for key, value in values.items() if key in names})
    for item in dataclasses.fields(record):  # type: ignore[arg-type]
        value = getattr(record, item.name)
        check_type(f"{name}.{item.name}", value, item.type)
        least = -_MOST if item.name in _ANY_SIGN else 0
        most = sys.float_info.max if item.name in _OF_KEYS else _MOST
        if isinstance(value, int | float) and not least <= value <= most:
            raise ValueError(
                f"{name}.{item.name}={str(value)[:_LONGEST]} is no number of a training"
            )
    return record
