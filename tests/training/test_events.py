"""A training counts the updates that it leaves out, tells of them, and ends where it makes none."""

import pytest
import torch

from seqkit.foundation.errors import DivergedError
from seqkit.training.events import Stepped, Trained
from seqkit.training.trainer import Trainer
from tests.training.test_trainer import trainer


def exploding(steps: int = 130) -> Trainer:
    training = trainer(valid=0, max_steps=steps)
    grow(training, 1e6)
    return training


def grow(training: Trainer, factor: float) -> None:
    """Let every gradient explode from now on, or no more."""
    with torch.no_grad():
        training.model.head.weight.mul_(factor)


def left_out(training: Trainer, end: int | None = None) -> list[int]:
    """What the reports up to a step tell."""
    told = []
    for event in training.run():
        if isinstance(event, Trained):
            told.append(event.left_out)
        if isinstance(event, Stepped) and event.step == end:
            break
    return told


def test_a_training_whose_every_gradient_explodes_ends_after_a_hundred() -> None:
    with pytest.raises(DivergedError, match=r"last 100 .*at step 100, .*optimizer\.lr"):
        list(exploding().run())


def test_it_counts_across_a_stop() -> None:
    training, resumed = exploding(), exploding()
    assert left_out(training, 95) == [1, 9] + [10] * 8
    resumed.restore(*training.state())
    with pytest.raises(DivergedError, match="at step 100"):
        list(resumed.run())
