"""What a step leaves out is a function of its number, and has the shares that are asked for."""

import pytest
import torch

from seqkit.config import ModelConfig, TrainConfig
from seqkit.training import dropout_masks as dropout
from seqkit.training.dropout_masks import DropoutMasks, dropout_keys, dropout_masks

CPU = torch.device("cpu")


def masks(step: int = 3, reset: float = 0.0, first: int = 0, **model: object) -> DropoutMasks:
    config = ModelConfig(
        **{"num_layers": 3, "hidden_size": 40, "vocabulary_size": 9, **model}  # type: ignore[arg-type]
    )
    made = DropoutMasks(config, TrainConfig(reset_state=reset), 5, CPU, first)
    made.set_step(step)
    return made


def share(mask: torch.Tensor) -> float:
    return float((mask == 0).float().mean())


@pytest.mark.parametrize("layers", [1, 3])
def test_the_top_layer_may_have_a_share_of_its_own(layers: int) -> None:
    units = masks(num_layers=layers, dropout=0.2, output_dropout=0.6).units(400, torch.float32)
    assert units is not None
    assert [share(mask) for mask in units] == pytest.approx([0.2] * (layers - 1) + [0.6], abs=0.02)
    alone = masks(output_dropout=0.6).units(400, torch.float32)
    assert alone is not None
    assert [share(mask) for mask in alone] == pytest.approx([0, 0, 0.6], abs=0.02)


def test_inputs_weights_and_states_are_dropped_with_their_shares() -> None:
    made = masks(
        reset=0.25, input="embedding", embedding_size=30, input_dropout=0.4, weight_drop=0.7
    )
    inputs, weights, state_resets = (
        made.inputs(100, torch.float32),
        made.weights(),
        made.state_resets(4000),
    )
    assert inputs is not None
    assert inputs.shape == (100, 30)
    assert share(inputs) == pytest.approx(0.4, abs=0.03)
    assert weights is not None
    assert weights.shape == (3, 160, 40)
    assert [share(mask) for mask in weights] == pytest.approx([0.7] * 3, abs=0.03)
    assert not torch.equal(weights[0], weights[1])
    assert state_resets is not None
    assert float(state_resets.float().mean()) == pytest.approx(0.25, abs=0.03)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("shape", [(1,), (7, 3), (25, 512), (2048, 512)])
def test_a_gpu_makes_the_same_to_the_bit(
    shape: tuple[int, ...], rate: float, dtype: torch.dtype
) -> None:
    keys = torch.from_numpy(dropout_keys(5, 3, 3))
    expected = dropout_masks(keys, shape, rate, dtype)
    assert torch.equal(dropout.masks(keys.cuda(), shape, rate, dtype).cpu(), expected)


def dropout_mask(
    seed: int, step: int, layer: int, shape: tuple[int, ...], rate: float
) -> torch.Tensor:
    """The mask of one layer."""
    keys = torch.from_numpy(dropout_keys(seed, step, layer + 1))
    return dropout_masks(keys, shape, rate, torch.float32)[layer]


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
def test_a_mask_drops_its_share_and_keeps_the_mean(rate: float) -> None:
    mask = dropout_mask(3, 5, 1, (100, 2000), rate)
    assert abs(float((mask == 0).float().mean()) - rate) < 0.005
    assert torch.unique(mask).tolist() == pytest.approx([0, 1 / (1 - rate)])


def test_a_mask_is_a_function_of_seed_step_and_layer() -> None:
    def mask(seed: int, step: int, layer: int) -> torch.Tensor:
        return dropout_mask(seed, step, layer, (50_001,), 0.5) - 1

    assert torch.equal(mask(1, 2, 3), mask(1, 2, 3))
    keys = [(1, 2, 3), (2, 2, 3), (1, 3, 3), (1, 2, 4), (2, 1, 3), (2**40, 2, 3), (1, 2**33, 3)]
    for index, first in enumerate(keys):
        for second in keys[:index]:
            assert abs(float((mask(*first) * mask(*second)).mean())) < 0.02, (first, second)


def test_neighbours_in_a_mask_are_independent() -> None:
    mask = dropout_mask(1, 2, 0, (100_000,), 0.5) - 1
    for distance in (1, 2, 3, 16, 64):
        assert abs(float((mask[distance:] * mask[:-distance]).mean())) < 0.015
