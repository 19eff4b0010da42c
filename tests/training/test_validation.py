"""A validation finds the better weights, and the temperature that suits them."""

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution, plainest_kernel
from seqkit.training import validation
from seqkit.training.validation import Validation, calibrated
from seqkit.training.weights import TrainingWeights

SYMBOLS = np.random.default_rng(1).choice(4, 900, p=[0.5, 0.25, 0.15, 0.1]).astype(np.uint8)
PART = Part(SYMBOLS, np.array([0, 500]))


@torch.no_grad()
def model(sharpness: float) -> CharRNN:
    """Its probabilities, raised to the power of 1 / sharpness, are the data's own."""
    made = CharRNN(ModelConfig(num_layers=1, hidden_size=3, vocabulary_size=4))
    made.head.weight.zero_()
    counts = np.bincount(SYMBOLS, minlength=4) / len(SYMBOLS)
    made.head.bias.copy_(torch.from_numpy(np.log(counts) * sharpness))
    return made


def validation_of(part: Part, *, calibrate: bool) -> Validation:
    made = model(1.0)
    execution = Execution(plainest_kernel(made.config), "fp32", 1)
    weights = TrainingWeights(made, execution, separators=False)
    return Validation(part, 0, "fp32", weights, calibrate=calibrate)


def loss(scored: CharRNN) -> float:
    return scoring.evaluate(scored, PART, start=0, segments=protocols.warmed(PART)).loss


@pytest.mark.parametrize("calibrate", [False, True])
def test_the_better_weights_are_chosen(calibrate: bool) -> None:
    found = validation_of(PART, calibrate=calibrate).choose(
        {"raw": model(1.5), "average": model(1.1)}
    )
    assert found.losses == pytest.approx({"raw": loss(model(1.5)), "average": loss(model(1.1))})
    if calibrate:  # at their own temperature both are alike, but for the grid
        assert found.loss <= min(found.losses.values())
    else:
        assert (found.weights, found.temperature) == ("average", 1.0)
        assert found.loss == found.losses["average"]


def test_the_temperature_is_that_at_which_the_part_is_predicted_best() -> None:
    confident = model(1.3)
    found = validation_of(PART, calibrate=True).choose({"raw": confident})
    assert found.temperature == pytest.approx(1.3)
    assert found.loss == pytest.approx(loss(calibrated(confident, 1.3)), rel=1e-6)
    assert found.loss < found.losses["raw"]


def test_of_a_long_part_the_same_temperature_and_losses_are_found() -> None:
    long = Part(np.tile(SYMBOLS, 120), np.array([0, 500]))
    assert len(long) < validation.SCORED
    segments = protocols.warmed(long)
    for sharpness in (0.8, 1.0, 1.3, 2.0):
        chosen = validation_of(long, calibrate=True).choose({"raw": model(sharpness)})
        assert chosen.temperature == pytest.approx(sharpness)
        scored = scoring.evaluate(
            calibrated(model(sharpness), sharpness), long, start=0, segments=segments
        )
        assert chosen.loss == pytest.approx(scored.loss, rel=1e-6)
        plain = scoring.evaluate(model(sharpness), long, start=0, segments=segments)
        assert chosen.losses["raw"] == pytest.approx(plain.loss, rel=1e-6)


def test_a_calibrated_model_has_other_logits_and_leaves_the_first_alone() -> None:
    made = model(1.3)
    before = made.head.bias.clone()
    other = calibrated(made, 1.3)
    torch.testing.assert_close(other.head.bias * 1.3, before)
    assert torch.equal(made.head.bias, before)
    assert calibrated(made, 1.0) is made


@pytest.mark.parametrize("calibrate", [False, True])
def test_it_tells_how_far_it_is(calibrate: bool) -> None:
    seen: list[int] = []
    models = {"raw": model(1.5), "average": model(1.1)}
    validation_of(PART, calibrate=calibrate).choose(models, seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == len(PART)
    assert len(PART) // 2 in seen
