"""Masks made in one launch are those that PyTorch's operations make."""

import pytest
import torch

from seqkit.foundation.errors import DeviceError
from seqkit.foundation.randomness import dropout_keys, dropout_masks
from seqkit.kernels import masks


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("rate", [0.0, 0.1, 0.5, 0.99])
@pytest.mark.parametrize("shape", [(1,), (7, 3), (25, 512), (2048, 512)])
def test_they_are_the_same_to_the_bit(
    shape: tuple[int, ...], rate: float, dtype: torch.dtype
) -> None:
    keys = torch.from_numpy(dropout_keys(5, 3, 3))
    expected = dropout_masks(keys, shape, rate, dtype)
    assert torch.equal(masks.masks(keys.cuda(), shape, rate, dtype).cpu(), expected)


@pytest.mark.gpu
@pytest.mark.parametrize("shape", [(33, 5), (33, 4), (33,)])
def test_a_part_of_the_lanes_has_the_masks_that_it_has_among_all(shape: tuple[int, ...]) -> None:
    keys = torch.from_numpy(dropout_keys(5, 3, 3))
    whole = dropout_masks(keys, shape, 0.3, torch.float32)
    for first, last in [(0, 8), (7, 8), (7, 33), (32, 33)]:
        size = last - first, *shape[1:]
        part = masks.masks(keys.cuda(), size, 0.3, torch.float32, first)
        assert torch.equal(part.cpu(), whole[:, first:last])


@pytest.mark.gpu
def test_they_are_made_without_nvrtc_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise DeviceError("this PyTorch has no NVRTC")

    keys = torch.from_numpy(dropout_keys(5, 3, 3))
    masks._kernel.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(masks, "Kernel", refused)
        found = masks.masks(keys.cuda(), (20, 30), 0.3, torch.float32)
    masks._kernel.cache_clear()
    assert torch.equal(found.cpu(), dropout_masks(keys, (20, 30), 0.3, torch.float32))


def test_a_cpu_makes_them_by_pytorchs_operations() -> None:
    keys = torch.from_numpy(dropout_keys(5, 3, 3))
    expected = dropout_masks(keys, (20, 30), 0.3, torch.float32)
    assert torch.equal(masks.masks(keys, (20, 30), 0.3, torch.float32), expected)
    assert torch.equal(masks.masks(keys, (12, 30), 0.3, torch.float32, 8), expected[:, 8:])
