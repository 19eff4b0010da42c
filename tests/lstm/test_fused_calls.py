"""Fused calls give the gradients of the equations, also where PyTorch's own are wrong."""

import pytest
import torch
from torch import Tensor

from seqkit.lstm import fused_calls
from seqkit.lstm.cells import LayerWeights, unrolled


def gradients(run: str, hidden: int, dtype: torch.dtype) -> list[Tensor]:
    """Of a layer with separators, in two lanes of five steps, after the outputs and states."""
    generator = torch.Generator().manual_seed(1)
    sizes = [(4 * hidden, 40), (4 * hidden, hidden), (4 * hidden,), (4 * hidden,)]
    sizes += [(5, 2, 40), (2, hidden), (2, hidden)]
    drawn = [torch.randn(size, generator=generator) / hidden**0.5 for size in sizes]
    given = [values.bfloat16().to(dtype).requires_grad_() for values in drawn]
    resets = torch.zeros(5, 2, dtype=torch.bool)
    resets[2, 1] = True
    weights, (x, h, c) = LayerWeights(*given[:4]), given[4:]
    layer = unrolled if run == "unrolled" else fused_calls.fused_layer
    out = layer("lstm", weights, x, h, c, resets=resets)
    kept = out.y * ~resets[..., None]
    asked = torch.autograd.grad(kept.float().square().sum() + out.c.float().sum(), given)
    return [values.float() for values in (kept, out.h, out.c, *asked)]


@pytest.mark.parametrize("hidden", [64, 1024])
@pytest.mark.parametrize("suspect", [False, True])
def test_gradients_in_bf16_are_those_of_the_equations(
    hidden: int, suspect: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if suspect:  # as on a processor where PyTorch's are wrong
        monkeypatch.setattr(fused_calls, "_is_wrong_in_bf16", lambda hidden: True)
    right = gradients("unrolled", hidden, torch.float32)
    for found, wanted in zip(gradients("fused", hidden, torch.bfloat16), right, strict=True):
        assert (found - wanted).norm() < 0.02 * wanted.norm()
