"""Draws and masks are functions of their counters, and as random as they should be."""

import numpy as np
import pytest
import torch

from seqkit.foundation.randomness import dropout_keys, dropout_masks, uniforms, uniforms_of_streams

CPU = torch.device("cpu")


def test_draws_are_philox_4x64_10() -> None:
    # The first block for the key (5, 2) and counter 0, from an independent scalar computation.
    def mulhilo(a: int, b: int) -> tuple[int, int]:
        return divmod(a * b, 2**64)

    counter, key = [0, 0, 0, 0], [5, 2]
    for _ in range(10):
        high0, low0 = mulhilo(0xD2E7470EE14C6C93, counter[0])
        high1, low1 = mulhilo(0xCA5A826395121157, counter[2])
        counter = [high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0]
        key = [(key[0] + 0x9E3779B97F4A7C15) % 2**64, (key[1] + 0xBB67AE8584CAA73B) % 2**64]
    expected = [(word >> 11) * 2.0**-53 for word in counter]
    assert uniforms(5, 2, 0, 4).tolist() == expected


@pytest.mark.parametrize(("position", "count"), [(0, 1), (1, 7), (3, 4), (5, 11), (16, 3)])
def test_a_draw_depends_on_its_position_alone(position: int, count: int) -> None:
    whole = uniforms(7, 3, 0, 30)
    assert (uniforms(7, 3, position, count) == whole[position : position + count]).all()


@pytest.mark.parametrize(
    ("seed", "position", "count"),
    [(5, 0, 1), (2**63 - 7, 3, 9), (0, 10**12, 128), (7, 5, 2), (1, 2, 130)],
)
@pytest.mark.parametrize("streams", [1, 63, 64, 300])
def test_draws_of_many_streams_are_those_of_each(
    streams: int, seed: int, position: int, count: int
) -> None:
    found = uniforms_of_streams(seed, range(streams), position, count)
    assert found.shape == (count, streams)
    each = [uniforms(seed, stream, position, count) for stream in range(streams)]
    assert (found == np.stack(each, axis=1)).all()


def test_streams_and_seeds_differ() -> None:
    first = uniforms(1, 0, 0, 1000)
    for seed, stream in [(1, 1), (2, 0), (0, 1)]:
        assert abs(np.corrcoef(first, uniforms(seed, stream, 0, 1000))[0, 1]) < 0.15


def test_draws_are_uniform() -> None:
    counts = np.histogram(uniforms(11, 0, 0, 100_000), bins=50, range=(0, 1))[0]
    chi_square = ((counts - 2000) ** 2 / 2000).sum()
    assert chi_square < 90  # 49 degrees of freedom: exceeded with probability 0.0003


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
