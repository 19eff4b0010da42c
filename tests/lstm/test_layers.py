"""The room's one class, used as its page says, is PyTorch's LSTM."""

import pytest
import torch
from torch import nn

from seqkit.lstm import Layers, Task, fastest, make_layers

T, B, X, H, L = 6, 3, 5, 4, 2
CPU = torch.device("cpu")


@pytest.mark.parametrize("kernel", ["layerwise", "stacked", "unrolled"])
def test_a_stack_is_pytorchs(kernel: str) -> None:
    theirs, modules = nn.LSTM(X, H, L), make_layers("lstm", X, H, L)
    for number, module in enumerate(modules):
        for name, value in module.named_parameters():
            value.data = theirs.get_parameter(name.replace("l0", f"l{number}")).data
    x, h, c = torch.randn(T, B, X), torch.randn(L, B, H), torch.randn(L, B, H)
    layers = Layers.of(modules, "lstm", kernel, torch.float32).packed(separators=False)
    outputs, *after = layers(x, h, c)
    y, expected = theirs(x, (h, c))
    assert len(outputs) == (1 if kernel == "stacked" else L)
    torch.testing.assert_close([outputs[-1], *after], [y, *expected])
    nothing, *same = layers(x[:0], h, c)
    assert nothing[-1].shape == (0, B, H)
    assert all(torch.equal(a, b) for a, b in zip(same, (h, c), strict=True))


def test_a_cpu_runs_a_layer_at_a_time_in_the_precision_that_is_given() -> None:
    way = fastest(Task("lstm", X, H, L, T, B, CPU), ["bf16"])
    modules = make_layers("lstm", X, H, L)
    layers = Layers.of(modules, "lstm", way.kernel, way.dtype).packed(separators=True)
    resets = torch.zeros(T, B, dtype=torch.bool)
    resets[-1, 1] = True
    zeros = torch.zeros(L, B, H)
    outputs, h, c = layers(torch.randn(T, B, X, dtype=way.dtype), zeros, zeros, resets=resets)
    assert (outputs[-1].dtype, h.dtype) == (torch.bfloat16, torch.float32)
    assert not h[:, 1].any()
    assert not c[:, 1].any()
    assert h[:, 0].all()
