"""Training steps of a small network, on symbols drawn at random."""

import dataclasses

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig, OptimizerConfig, TrainConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN
from seqkit.training.step import Plan, TrainingStep

V, B, T = 11, 6, 10
GPU = pytest.mark.gpu
SOUND = {"input": "embedding", "embedding_size": 5, "labels": [3], "label_size": 3}
"""Settings of a network as one of sound with labels has them."""


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
        labels = np.random.default_rng(3).integers(0, 4, (documents, 1))
        part = dataclasses.replace(part, labels=labels)
    lanes = Lanes(part, 0, B, T)
    noise = 0.3 if sound else 0.0
    train = TrainConfig(batch_size=B, sequence_length=T, clip_norm=clip_norm, input_noise=noise)
    plan = Plan(optimizer or OptimizerConfig(), train, 5, execution)
    return model, TrainingStep(model, lanes, plan)


def learned(
    execution: Execution, recorded: bool, settings: dict[str, object]
) -> list[torch.Tensor]:
    """The gradient, nats and carried state after steps on a GPU that leave the weights alone.

    AdamW divides by the gradient's size: where that is all rounding, weights of two kernels part.
    """
    _, stepper = step(execution, "cuda", **settings)  # type: ignore[arg-type]
    if recorded:
        stepper.capture()
    for number in range(8):
        stepper.run(number, 0.0)
    scale, tensors = stepper._optimizer.scale, stepper.state()
    carried = [name for name in sorted(tensors) if name.startswith("state.")]
    parts = [gradient / scale for gradient in stepper.weights.gradients]
    return [part.cpu() for part in (*parts, *(tensors[name] for name in ("nats", *carried)))]


def require_near(found: list[torch.Tensor], expected: list[torch.Tensor]) -> None:
    for a, b in zip(found, expected, strict=True):
        assert (a - b).norm() <= 0.05 * b.norm()


def trained(model: CharRNN, stepper: TrainingStep, steps: int = 8) -> list[torch.Tensor]:
    """The weights, nats and carried state after some steps."""
    for number in range(steps):
        stepper.run(number, 0.01)
    tensors = stepper.state()
    weights = [value.detach().cpu().clone() for value in model.parameters()]
    carried = [name for name in sorted(tensors) if name.startswith("state.")]
    return [*weights, *(tensors[name].cpu() for name in ("nats", *carried))]
