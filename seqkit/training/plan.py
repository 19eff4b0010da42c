"""How a network is trained."""

from dataclasses import dataclass

from seqkit.config import OptimizerConfig, TrainConfig
from seqkit.data.reading_errors import Errors
from seqkit.model.execution import Execution


@dataclass(frozen=True)
class Plan:
    """All that decides what a training step computes, beside the network and its data.

    seed: of the dropout masks and of the errors.
    execution: how the network runs.
    errors: what is read wrong on purpose.
    """

    optimizer: OptimizerConfig
    train: TrainConfig
    seed: int
    execution: Execution
    errors: Errors | None = None
