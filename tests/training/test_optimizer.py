"""An update clips what it is told to, skips what overflowed, and goes on from a saved state."""

import copy

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig, OptimizerConfig, TrainConfig
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.training.optimizer import OptimizerStep, make_optimizer
from seqkit.training.weights import TrainingWeights

LAYERWISE = Execution("layerwise", "fp32", 4)
LARGEST = torch.finfo(torch.float32).max


def updater(
    kind: str = "adamw",
    *,
    scaled: bool = False,
    value: float = 0.0,
    norm: float = 0.0,
    momentum: float = 0.9,
    average: float = 0.0,
    device: str = "cpu",
    execution: Execution = LAYERWISE,
    hidden: int = 6,
    gave_up: torch.Tensor | None = None,
) -> tuple[OptimizerStep, TrainingWeights]:
    config = ModelConfig(num_layers=1, hidden_size=hidden, vocabulary_size=5)
    model = CharRNN(config, torch.Generator().manual_seed(1)).to(device)
    weights = TrainingWeights(model, execution, separators=False, average=average)
    optimizer = OptimizerConfig(kind=kind, weight_decay=0.1, momentum=momentum)
    train = TrainConfig(clip_value=value, clip_norm=norm)
    return OptimizerStep(optimizer, train, weights, scaled=scaled, gave_up=gave_up), weights


def fill(weights: TrainingWeights, values: float) -> None:
    for gradient in weights.gradients:
        gradient.fill_(values)


def values_of(weights: TrainingWeights) -> list[torch.Tensor]:
    return [own.detach().clone() for own in weights.parameters]


def test_gradients_are_clipped_by_value_and_then_by_norm() -> None:
    made, weights = updater("sgd", value=0.5, norm=1.0)
    before = values_of(weights)
    fill(weights, 3.0)
    weights.gradients[0].zero_()
    count = sum(gradient.numel() for gradient in weights.gradients[1:])
    made.set_rate(0.1)
    made.update()
    assert float(made.norm) == pytest.approx(3.0 * count**0.5)
    clipped = 1.0 / count**0.5  # each is 0.5, and their norm, 0.5 * count ** 0.5, above the bound
    changed = (before[-1] - weights.parameters[-1].detach()).tolist()  # a bias, without decay
    assert changed == pytest.approx([0.1 * clipped] * len(changed), rel=1e-4)


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_an_update_that_overflows_is_skipped_and_halves_the_scale(kind: str) -> None:
    made, weights = updater(kind, scaled=True, norm=1.0)
    made.set_rate(0.01)
    made.scale.fill_(LARGEST)
    before = values_of(weights)
    fill(weights, torch.inf)
    made.update()
    assert not np.isfinite(float(made.norm))
    assert float(made.scale) == LARGEST / 2
    assert all(torch.equal(a, b) for a, b in zip(before, weights.parameters, strict=True))
    assert all(bool((moment == 0).all()) for moment in made.moments().values())
    growth = torch.tensor(1999, dtype=torch.int32)
    made.restore({"scale": torch.tensor(1024.0), "growth": growth, **made.moments()})
    fill(weights, 1.0)
    made.update()
    assert float(made.scale) == 2048.0
    assert int(made.state()["growth"]) == 0
    assert all(not torch.equal(a, b) for a, b in zip(before, weights.parameters, strict=True))
    assert all(bool(own.isfinite().all()) for own in weights.parameters)


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
@pytest.mark.parametrize(
    ("norm", "skipped"), [(0.0, False), (0.01, True), (1.0, True), (150.0, False), (1e6, False)]
)
@pytest.mark.parametrize("scaled", [False, True])
def test_a_gradient_that_explodes_is_skipped(
    kind: str, norm: float, skipped: bool, scaled: bool
) -> None:
    made, weights = updater(kind, norm=norm, scaled=scaled)
    made.set_rate(0.01)
    before, scale = values_of(weights), float(made.scale)
    fill(weights, 100.0 * scale)
    made.update()
    assert float(made.scale) == scale
    assert float(made.norm) > 150.0
    assert int(made.left_out) == skipped
    for own, values in zip(before, weights.parameters, strict=True):
        assert torch.equal(own, values) == skipped


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_nan_shows_without_a_scale_and_infinity_is_skipped(kind: str) -> None:
    made, weights = updater(kind, norm=1.0)
    made.set_rate(0.01)
    before = values_of(weights)
    fill(weights, 1e30)  # finite, and its square is not
    made.update()
    assert int(made.left_out) == 1
    assert all(torch.equal(a, b) for a, b in zip(before, weights.parameters, strict=True))
    fill(weights, torch.nan)
    made.update()
    assert all(bool(values.isnan().all()) for values in weights.parameters)
    assert int(made.left_out) == 1


def test_gradients_that_stay_nan_are_counted_and_the_scale_has_a_floor() -> None:
    made, weights = updater(scaled=True, norm=1.0)
    made.set_rate(0.01)
    for _ in range(30):
        fill(weights, torch.nan)
        made.update()
    assert (int(made.left_out), float(made.scale)) == (30, 1.0)
    fill(weights, 0.1)
    made.update()
    assert all(bool(values.isfinite().all()) for values in weights.parameters)


@pytest.mark.parametrize("scaled", [False, True])
def test_what_was_left_out_is_counted_until_a_report_and_across_a_stop(scaled: bool) -> None:
    made, weights = updater(norm=1.0, scaled=scaled)
    made.set_rate(0.01)
    for factor in (1000.0, 0.01, 1000.0):
        fill(weights, factor * float(made.scale))
        made.update()
    assert int(made.left_out) == 2
    other, _ = updater(norm=1.0, scaled=scaled)
    other.restore(made.state())
    assert int(other.left_out) == 2


def test_a_loss_scale_is_restored_only_where_there_is_one() -> None:
    (plain, _), (half, _), (other, _) = updater(), updater(scaled=True), updater(scaled=True)
    half.scale.fill_(512.0)
    assert "scale" not in plain.state()
    other.restore(plain.state())
    assert float(other.scale) == 65536.0
    other.restore(half.state())
    assert float(other.scale) == 512.0
    plain.restore(half.state())
    assert float(plain.scale) == 1.0


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_a_restored_updater_goes_on_to_the_last_bit(kind: str) -> None:
    (first, weights), (second, others) = updater(kind), updater(kind)
    first.set_rate(0.1)
    fill(weights, 0.3)
    first.update()
    second.restore({name: values.clone() for name, values in first.state().items()})
    with torch.no_grad():
        for own, other in zip(weights.parameters, others.parameters, strict=True):
            other.copy_(own)
    for made, given in ((first, weights), (second, others)):
        made.set_rate(0.05)
        fill(given, -0.2)
        made.update()
    for own, other in zip(weights.parameters, others.parameters, strict=True):
        assert torch.equal(own, other)


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_moments_of_other_weights_are_refused(kind: str) -> None:
    (made, _), (other, _) = updater(kind), updater(kind)
    state = made.state()
    whole = next(name for name in state if name.startswith("optimizer.0."))
    small = {name: values.new_zeros(1) for name, values in state.items()}
    for given in (small, {name: own for name, own in state.items() if name != whole}):
        with pytest.raises(ValueError, match=f"{whole} is "):
            other.restore(given)


def test_sgd_may_go_on_with_a_momentum_that_it_did_not_have_before() -> None:
    (with_momentum, weights), (without, _) = updater("sgd"), updater("sgd", momentum=0.0)
    with_momentum.set_rate(0.1)
    fill(weights, 0.3)
    with_momentum.update()
    without.restore(with_momentum.state())
    assert not without.state()
    other, _ = updater("sgd")
    other.restore(without.state())
    assert not any(bool(moment.any()) for moment in other.moments().values())


CHANGED = "PyTorch has changed its optimizers: see whether _uncompiled in optimizer.py still holds"


@pytest.mark.thorough(keep=2)
@pytest.mark.parametrize("kind", ["adamw", "sgd"])
@pytest.mark.parametrize("skipped", [0.0, 1.0])
def test_an_optimizer_without_wrappers_does_what_pytorchs_own_does(
    kind: str, skipped: float
) -> None:
    values = [torch.linspace(-1, 1, 12).reshape(3, 4), torch.linspace(-1, 1, 3)]
    config = OptimizerConfig(kind=kind, weight_decay=0.1)
    parameters = [[own.clone().requires_grad_() for own in values] for _ in range(2)]
    unwrapped = make_optimizer(config, parameters[0])
    groups = [{**group, "params": []} for group in unwrapped.param_groups]
    groups[0]["params"], groups[1]["params"] = ([own] for own in parameters[1])
    own_kind = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD}[kind]
    wrapped = own_kind(groups)
    if kind == "sgd":
        wrapped.load_state_dict(copy.deepcopy(unwrapped.state_dict()))
    for step in range(4):
        for optimizer, own in zip((unwrapped, wrapped), parameters, strict=True):
            optimizer.grad_scale = torch.tensor(3.0)
            optimizer.found_inf = torch.tensor(skipped if step == 2 else 0.0)
            for number, parameter in enumerate(own):
                parameter.grad = torch.full_like(parameter, 0.3 * step - number)
            with torch.no_grad():
                optimizer.step()
        kept = [optimizer.state_dict() for optimizer in (unwrapped, wrapped)]
        assert str(kept[0]) == str(kept[1]), CHANGED
        for one, other in zip(*parameters, strict=True):
            assert torch.equal(one, other), CHANGED
