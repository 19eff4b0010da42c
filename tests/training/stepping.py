"""Training steps of a small network, on symbols drawn at random."""

import dataclasses

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig, OptimizerConfig, TrainConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.data.reading_errors import Errors
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.model.linear_predictor import LinearPredictor
from seqkit.training.step import Plan, TrainingStep

V, B, T = 11, 6, 10
GPU = pytest.mark.gpu
CODES, LOOKBACK = 4, 6
SOUND = {
    **{"input": "embedding", "embedding_size": 5, "conditions": CODES, "condition_size": 3},
    "lookback": LOOKBACK,
}
"""Settings of a network as one of sound has them."""


def errors() -> Errors:
    """All kinds of errors, often."""
    draw = np.random.default_rng(7)
    return Errors(
        share=0.9,
        steps=2,
        noise=2.0,
        symbols=V,
        readings=np.stack([np.arange(V), draw.integers(0, V, V)]),
        silence=np.array([V // 2]),
        silent_steps=4,
    )


def step(
    execution: Execution,
    device: str = "cpu",
    documents: int = 1,
    optimizer: OptimizerConfig | None = None,
    clip_norm: float = 5.0,
    symbols: np.ndarray | None = None,
    sound: bool = False,
    **settings: object,
) -> tuple[CharRNN, TrainingStep]:
    settings = {**(SOUND if sound else {}), **settings}
    values = {"num_layers": 2, "hidden_size": 16, "vocabulary_size": V, **settings}
    model = CharRNN(ModelConfig(**values), torch.Generator().manual_seed(1)).to(device)  # type: ignore[arg-type]
    if symbols is None:
        symbols = np.random.default_rng(2).integers(0, V, B * T * 12).astype(np.uint8)
    starts = np.linspace(0, len(symbols), documents, endpoint=False).astype(np.int64)
    part = Part(symbols, starts)
    if sound:
        draw = np.random.default_rng(3)
        codes = draw.integers(0, CODES, len(symbols)).astype(np.uint8)
        part = dataclasses.replace(part, codes=codes)
        weights = torch.from_numpy(draw.normal(0, 0.4, (CODES, LOOKBACK)))
        model.set_linear_predictor(LinearPredictor(torch.linspace(-1, 1, V), weights))
    lanes = Lanes(part, 0, B, T)
    train = TrainConfig(batch_size=B, sequence_length=T, clip_norm=clip_norm)
    plan = Plan(optimizer or OptimizerConfig(), train, 5, execution, errors() if sound else None)
    return model, TrainingStep(model, lanes, plan)


def trained(model: CharRNN, stepper: TrainingStep, steps: int = 8) -> list[torch.Tensor]:
    """The weights, nats and carried state after some steps."""
    for number in range(steps):
        stepper.run(number, 0.01)
    tensors = stepper.state()
    weights = [value.detach().cpu().clone() for value in model.parameters()]
    carried = [name for name in sorted(tensors) if name.startswith("state.")]
    return [*weights, *(tensors[name].cpu() for name in ("nats", *carried))]
