"""What a training reports while it runs."""

from dataclasses import dataclass


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
    over `scored` symbols, of which the part has `total`. Losses with the same `since`, a step, can
    be compared.
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
    since: int = 0


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
"""In the order in which they come within a step; CheckpointDue comes before Validated, too, if the
last one is long ago."""
