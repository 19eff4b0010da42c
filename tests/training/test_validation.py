"""A validation finds the better weights, and the temperature that suits them."""

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.evaluation import scoring
from seqkit.evaluation.scoring import Scored
from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN
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
    execution = Execution("layerwise", "fp32", 1)
    weights = TrainingWeights(made, execution, separators=False)
    return Validation(part, 0, execution, weights, calibrate=calibrate)


def loss(scored: CharRNN, part: Part = PART) -> float:
    return scoring.evaluate(Scored(scored, part, 0), scoring.warmed(part)).loss


@pytest.mark.parametrize("calibrate", [False, True])
def test_the_better_weights_are_chosen(calibrate: bool) -> None:
    models = {"raw": model(1.5), "average": model(1.1)}
    found = validation_of(PART, calibrate=calibrate).losses(models)
    plain = {name: found[name, 1.0] for name in models}
    assert plain == pytest.approx({"raw": loss(model(1.5)), "average": loss(model(1.1))})
    if calibrate:  # at their own temperature both are alike, but for the grid
        assert min(found.values()) <= min(plain.values())
    else:
        assert min(found, key=found.__getitem__) == ("average", 1.0)


@pytest.mark.parametrize("times", [1, 120])
@pytest.mark.parametrize("sharpness", [0.8, 1.3, 2.0])
def test_the_temperature_is_that_at_which_the_part_is_predicted_best(
    sharpness: float, times: int
) -> None:
    part = Part(np.tile(SYMBOLS, times), np.array([0, 500]))
    confident = model(sharpness)
    found = validation_of(part, calibrate=True).losses({"raw": confident})
    assert [temperature for _, temperature in found] == [1.0, pytest.approx(sharpness)]
    plain, best = found.values()
    assert plain == pytest.approx(loss(confident, part), rel=1e-6)
    assert best == pytest.approx(loss(calibrated(confident, sharpness), part), rel=1e-6)
    assert best < plain
