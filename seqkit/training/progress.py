"""How far a training has come."""

from dataclasses import dataclass


@dataclass
class TrainingProgress:
    """How far a training has come; a checkpoint keeps it beside the tensors."""

    step: int = 0
    symbols: int = 0
    seconds: float = 0.0
    reported_symbols: int = 0
    reported_seconds: float = 0.0
    best_loss: float | None = None
    best_step: int = 0
    best_weights: str | None = None
    best_temperature: float | None = None
    without_improvement: int = 0
    validating: bool = False
    """The validation after this step has begun and is not done: a stop came in its middle."""
