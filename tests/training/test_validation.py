"""A validation finds the better weights, and the temperature that suits them."""

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.evaluation import protocols, scoring
from seqkit.evaluation.scoring import Scored
from seqkit.lstm.execution import Execution, plainest_kernel
from seqkit.model.char_rnn import CharRNN
from seqkit.training import validation
from seqkit.training.events import Event, Validated
from seqkit.training.validation import Validation, calibrated
from seqkit.training.weights import TrainingWeights
from tests.training.test_trainer import trainer

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
    return Validation(part, 0, execution, weights, calibrate=calibrate)


def loss(scored: CharRNN) -> float:
    return scoring.evaluate(Scored(scored, PART, 0), protocols.warmed(PART)).loss


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


def test_the_temperature_is_that_at_which_the_part_is_predicted_best() -> None:
    confident = model(1.3)
    found = validation_of(PART, calibrate=True).losses({"raw": confident})
    assert [temperature for _, temperature in found] == [1.0, pytest.approx(1.3)]
    plain, best = found.values()
    assert best == pytest.approx(loss(calibrated(confident, 1.3)), rel=1e-6)
    assert best < plain


def test_of_a_long_part_the_same_temperature_and_losses_are_found() -> None:
    long = Part(np.tile(SYMBOLS, 120), np.array([0, 500]))
    assert len(long) < validation.SCORED
    segments = protocols.warmed(long)
    for sharpness in (0.8, 1.0, 1.3, 2.0):
        found = validation_of(long, calibrate=True).losses({"raw": model(sharpness)})
        *_, (_, temperature) = found
        assert temperature == pytest.approx(sharpness)
        scored = scoring.evaluate(
            Scored(calibrated(model(sharpness), sharpness), long, 0), segments
        )
        assert min(found.values()) == pytest.approx(scored.loss, rel=1e-6)
        plain = scoring.evaluate(Scored(model(sharpness), long, 0), segments)
        assert found["raw", 1.0] == pytest.approx(plain.loss, rel=1e-6)


def scored(events: list[Event]) -> set[tuple[int, int]]:
    """What validations have scored, and of how much."""
    return {(event.scored, event.total) for event in events if isinstance(event, Validated)}


@pytest.mark.parametrize("minutes", [0.0, 0.002])
def test_of_a_long_part_as_much_is_scored_however_long_it_takes(
    minutes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validation, "SCORED", 4096)
    training = trainer(valid=20_000, max_steps=10, max_minutes=minutes)
    assert scored(list(training.run())) == {(4096, 20_000)}
    assert training.progress.scored == 4096
    short = trainer(valid=4096, max_steps=10, max_minutes=minutes)
    assert scored(list(short.run())) == {(4096, 4096)}
