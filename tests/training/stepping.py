"""Training steps of a small network, on symbols drawn at random."""

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig, OptimizerConfig, TrainConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.training.step import TrainingStep

V, B, T = 11, 6, 10
GPU = pytest.mark.gpu


def step(
    execution: Execution,
    device: str = "cpu",
    documents: int = 1,
    optimizer: OptimizerConfig | None = None,
    clip_value: float = 0.0,
    clip_norm: float = 5.0,
    symbols: np.ndarray | None = None,
    **settings: object,
) -> tuple[CharRNN, TrainingStep]:
    values = {"num_layers": 2, "hidden_size": 16, "vocabulary_size": V, **settings}
    model = CharRNN(ModelConfig(**values), torch.Generator().manual_seed(1)).to(device)  # type: ignore[arg-type]
    if symbols is None:
        symbols = np.random.default_rng(2).integers(0, V, B * T * 12).astype(np.uint8)
    starts = np.linspace(0, len(symbols), documents, endpoint=False).astype(np.int64)
    lanes = Lanes(Part(symbols, starts), 0, B, T)
    train = TrainConfig(batch_size=B, sequence_length=T, clip_value=clip_value, clip_norm=clip_norm)
    return model, TrainingStep(
        model=model,
        lanes=lanes,
        optimizer=optimizer or OptimizerConfig(),
        train=train,
        seed=5,
        execution=execution,
    )


def trained(model: CharRNN, stepper: TrainingStep, steps: int = 8) -> list[torch.Tensor]:
    """The weights, nats and carried state after some steps."""
    for number in range(steps):
        stepper.run(number, 0.01)
    tensors = stepper.state()
    weights = [value.detach().cpu().clone() for value in model.parameters()]
    return [*weights, *(tensors[name].cpu() for name in ("nats", "state.h", "state.c"))]
