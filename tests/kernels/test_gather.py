"""A gather copies rows of any stride, of any dtype, and nothing else."""

import pytest
import torch

from seqkit.kernels.gather import Gather

SHAPES = [(1,), (2048,), (2049,), (7, 3), (130, 65), (2048, 512)]


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_it_copies_padded_and_transposed_tensors(dtype: torch.dtype) -> None:
    generator = torch.Generator("cuda").manual_seed(1)
    flat = torch.full((3_000_000,), torch.nan, device="cuda")
    targets, sources, begin = [], [], 128
    for number, shape in enumerate(SHAPES):
        target = flat[begin : begin + torch.Size(shape).numel()].view(shape)
        targets.append(target)
        begin += target.numel() + 64
        wide = [size + 5 * (number % 2) for size in shape]
        source = torch.randn(wide, generator=generator, device="cuda").to(dtype)
        if number == 4:
            source = source.T.contiguous().T
        sources.append(source[tuple(slice(size) for size in shape)])
    Gather(targets, dtype)(sources)
    for target, source in zip(targets, sources, strict=True):
        assert torch.equal(target, source.float())
    assert int(flat.isfinite().sum()) == sum(target.numel() for target in targets)
