"""Masks are functions of their counters, and as random as they should be."""

import pytest
import torch

from seqkit.training.hashed import dropout_keys, dropout_masks

CPU = torch.device("cpu")


def dropout_mask(
    seed: int, step: int, layer: int, shape: tuple[int, ...], rate: float, device: torch.device
) -> torch.Tensor:
    """The mask of one layer."""
    keys = torch.from_numpy(dropout_keys(seed, step, layer + 1)).to(device)
    return dropout_masks(keys, shape, rate, torch.float32)[layer]


@pytest.mark.parametrize("rate", [0.1, 0.25, 0.5, 0.9])
def test_a_mask_drops_its_share_and_keeps_the_mean(rate: float) -> None:
    mask = dropout_mask(3, 5, 1, (100, 2000), rate, CPU)
    assert abs(float((mask == 0).float().mean()) - rate) < 0.005
    assert torch.unique(mask).tolist() == pytest.approx([0, 1 / (1 - rate)])


def test_a_mask_is_a_function_of_seed_step_and_layer() -> None:
    def mask(seed: int, step: int, layer: int) -> torch.Tensor:
        return dropout_mask(seed, step, layer, (50_001,), 0.5, CPU) - 1

    assert torch.equal(mask(1, 2, 3), mask(1, 2, 3))
    keys = [(1, 2, 3), (2, 2, 3), (1, 3, 3), (1, 2, 4), (2, 1, 3), (2**40, 2, 3), (1, 2**33, 3)]
    for index, first in enumerate(keys):
        for second in keys[:index]:
            assert abs(float((mask(*first) * mask(*second)).mean())) < 0.02, (first, second)


def test_neighbours_in_a_mask_are_independent() -> None:
    mask = dropout_mask(1, 2, 0, (100_000,), 0.5, CPU) - 1
    for distance in (1, 2, 3, 16, 64):
        assert abs(float((mask[distance:] * mask[:-distance]).mean())) < 0.015


def test_a_mask_does_not_depend_on_the_lanes_beyond_its_own() -> None:
    assert torch.equal(
        dropout_mask(1, 9, 0, (33, 5), 0.3, CPU), dropout_mask(1, 9, 0, (40, 5), 0.3, CPU)[:33]
    )


@pytest.mark.parametrize("shape", [(33, 5), (33, 4), (33,)])
def test_a_part_of_the_lanes_has_the_masks_that_it_has_among_all(shape: tuple[int, ...]) -> None:
    keys = torch.from_numpy(dropout_keys(1, 9, 2))
    whole = dropout_masks(keys, shape, 0.3, torch.float32)
    for first, last in [(0, 8), (7, 8), (7, 33), (32, 33)]:
        part = dropout_masks(keys, (last - first, *shape[1:]), 0.3, torch.float32, first)
        assert torch.equal(part, whole[:, first:last])


@pytest.mark.gpu
def test_a_gpu_makes_the_same_mask() -> None:
    gpu = dropout_mask(1, 7, 2, (33, 65), 0.3, torch.device("cuda"))
    assert torch.equal(gpu.cpu(), dropout_mask(1, 7, 2, (33, 65), 0.3, CPU))
