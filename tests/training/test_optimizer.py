"""An update clips what it is told to, skips what overflowed, and goes on from a saved state."""

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig, OptimizerConfig, TrainConfig
from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN
from seqkit.training.optimizer import OptimizerStep
from seqkit.training.weights import TrainingWeights

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
LAYERWISE = Execution("layerwise", "fp32", 4)
LARGEST = torch.finfo(torch.float32).max
Made = tuple[OptimizerStep, TrainingWeights]


def updater(
    *,
    scaled: bool = False,
    norm: float = 0.0,
    average: float = 0.0,
    device: str = "cpu",
    execution: Execution = LAYERWISE,
    hidden: int = 6,
) -> Made:
    config = ModelConfig(num_layers=1, hidden_size=hidden, vocabulary_size=5)
    model = CharRNN(config, torch.Generator().manual_seed(1)).to(device)
    weights = TrainingWeights(model, execution, separators=False, average=average)
    if weights.average is not None:
        weights.average.set_step(1)
    optimizer = OptimizerConfig(weight_decay=0.1)
    train = TrainConfig(clip_norm=norm)
    return OptimizerStep(optimizer, train, weights, scaled=scaled), weights


def fill(weights: TrainingWeights, values: float) -> None:
    for gradient in weights.gradients:
        gradient.fill_(values)


def all_of(made: Made) -> dict[str, torch.Tensor]:
    """All that an update changes."""
    own, weights = made
    tensors = {f"parameter.{i}": values for i, values in enumerate(weights.parameters)}
    tensors |= {f"leaf.{i}": values for i, values in enumerate(weights.leaves)}
    if weights.average is not None:
        tensors |= weights.average.tensors()
    return tensors | own.tensors() | {"norm": own.norm}


def skipped(made: Made) -> bool:
    """Update, and say whether nothing was changed but what tells so; else all is finite."""
    before = {name: values.detach().clone() for name, values in all_of(made).items()}
    made[0].update()
    told = ("scale", "growth", "norm", "left_out")
    after = {name: values for name, values in all_of(made).items() if name not in told}
    same = {torch.equal(values, before[name]) for name, values in after.items()}
    assert same == {True} or all(bool(values.isfinite().all()) for values in after.values())
    return same == {True}


def test_gradients_are_clipped_by_their_norm() -> None:
    made, weights = updater(norm=1.0)
    fill(weights, 3.0)
    weights.gradients[0].zero_()
    count = sum(gradient.numel() for gradient in weights.gradients[1:])
    made.update()
    assert float(made.norm) == pytest.approx(3.0 * count**0.5)
    clipped = 1.0 / count**0.5  # of each, so that their norm is 1
    means = [values for name, values in made.moments().items() if name.endswith("exp_avg")]
    assert means[-1].tolist() == pytest.approx([0.1 * clipped] * means[-1].numel(), rel=1e-4)


@pytest.mark.parametrize("device", DEVICES)
def test_an_update_that_overflows_is_skipped_and_halves_the_scale(device: str) -> None:
    made, weights = own = updater(scaled=True, norm=1.0, device=device)
    made.rate.fill_(0.01)
    made.scale.fill_(LARGEST)
    fill(weights, 1.0)
    weights.gradients[2].view(-1)[-1] = torch.inf
    assert skipped(own)
    assert not np.isfinite(float(made.norm))
    assert float(made.scale) == LARGEST / 2
    for scale, grown in ((1024.0, 2048.0), (3e38, 3e38)):
        growth = torch.tensor(1999, dtype=torch.int32)
        made.restore({"scale": torch.tensor(scale), "growth": growth, **made.moments()})
        fill(weights, 1.0)
        assert not skipped(own)
        assert float(made.scale) == pytest.approx(grown)
        assert int(made.state()["growth"]) == 0


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("norm", "explodes"), [(0.0, False), (0.01, True), (1.0, True), (150.0, False), (1e6, False)]
)
@pytest.mark.parametrize("scaled", [False, True])
def test_a_gradient_that_explodes_is_skipped(
    norm: float, explodes: bool, scaled: bool, device: str
) -> None:
    made, weights = own = updater(norm=norm, scaled=scaled, average=0.9, device=device)
    made.rate.fill_(0.01)
    scale = float(made.scale)
    fill(weights, 100.0 * scale)
    assert skipped(own) == explodes
    assert float(made.scale) == scale
    assert float(made.norm) > 150.0
    assert int(made.left_out) == explodes


def test_nan_shows_without_a_scale_and_infinity_is_skipped() -> None:
    made, weights = own = updater(norm=1.0)
    made.rate.fill_(0.01)
    fill(weights, 1e30)  # finite, and its square is not
    assert skipped(own)
    assert int(made.left_out) == 1
    fill(weights, torch.nan)
    made.update()
    assert all(bool(values.isnan().all()) for values in weights.parameters)
    assert int(made.left_out) == 1


@pytest.mark.parametrize("device", DEVICES)
def test_a_restored_updater_goes_on_to_the_last_bit(device: str) -> None:
    (first, weights), (second, others) = (updater(device=device) for _ in range(2))
    first.rate.fill_(0.1)
    fill(weights, 0.3)
    first.update()
    second.restore({name: values.clone() for name, values in first.state().items()})
    with torch.no_grad():
        for own, other in zip(weights.parameters, others.parameters, strict=True):
            other.copy_(own)
    for made, given in ((first, weights), (second, others)):
        made.rate.fill_(0.05)
        fill(given, -0.2)
        made.update()
    for own, other in zip(weights.parameters, others.parameters, strict=True):
        assert torch.equal(own, other)


def test_moments_of_other_weights_are_refused() -> None:
    (made, _), (other, _) = updater(), updater()
    state = made.state()
    whole = next(name for name in state if name.startswith("optimizer.0."))
    small = {name: values.new_zeros(1) for name, values in state.items()}
    for given in (small, {name: own for name, own in state.items() if name != whole}):
        with pytest.raises(ValueError, match=f"{whole} is "):
            other.restore(given)
