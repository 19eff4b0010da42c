"""A layer drawn at random: what the persistent kernels, cuDNN and the equations make of it."""

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit.foundation.errors import DeviceError
from seqkit.lstm import cells, fused_calls, launch
from seqkit.lstm.cells import LayerWeights
from seqkit.lstm.layers import Layers
from seqkit.lstm.nvrtc import Kernel
from seqkit.model.network import require_finished

GPU = torch.device("cuda", 0)
RESULTS = ["y", "h", "c", "dw", "du", "db", "dd", "dh0", "dc0", "dx"]
ROUNDED = {torch.float16: 1e-3, torch.bfloat16: 8e-3}
"""Of the norm: a few roundings, 2.4e-4 each in fp16 and 2e-3 in bf16."""


class Case:
    """A layer, what it is given, and the gradients of its results."""

    def __init__(
        self,
        seed: int,
        shape: tuple[int, int, int],
        *,
        symbols: bool,
        share: float,
        dtype: torch.dtype = torch.float16,
    ):
        steps, lanes, hidden = shape
        self._generator = torch.Generator(GPU).manual_seed(seed)
        width = int(torch.randint(1, 20, (), generator=self._generator, device=GPU)) * 8
        w = self.normal(4 * hidden, width) * (0.5 if symbols else width**-0.5)
        u = self.normal(4 * hidden, hidden) * hidden**-0.5
        biases = self.normal(2, 4 * hidden) * 0.2
        self.weights = LayerWeights(*(v.to(dtype) for v in (w, u, *biases)))
        self.symbols = torch.randint(width, (steps, lanes), generator=self._generator, device=GPU)
        one_hot = F.one_hot(self.symbols, width).to(dtype)
        self.x = one_hot if symbols else self.normal(steps, lanes, width).to(dtype)
        self.given = self.symbols if symbols else self.x
        self.h, self.c = self.normal(2, lanes, hidden).to(dtype) * 0.5
        chance = torch.rand(steps, lanes, generator=self._generator, device=GPU)
        self.resets = chance < share if share else None
        shapes = (steps, lanes, hidden), (lanes, hidden), (lanes, hidden)
        self.gradients = [self.normal(*size).to(dtype) for size in shapes]

    def normal(self, *shape: int) -> Tensor:
        return torch.randn(shape, generator=self._generator, device=GPU)

    def persistent(self, *, grid: bool = False) -> list[Tensor]:
        """By the kernel in clusters, or without them."""
        leaves = [value.requires_grad_() for value in (*self.weights, self.h, self.c)]
        if self.given is self.x:
            leaves.append(self.x.requires_grad_())
        failed = torch.zeros(1, dtype=torch.int32, device=GPU)
        layers = Layers("lstm", "grid" if grid else "persistent", (self.weights,), failed)
        (y,), *last = layers(self.given, self.h[None], self.c[None], resets=self.resets)
        out = y, *(values[0] for values in last)
        gradients = torch.autograd.grad(out, leaves, self.gradients)
        require_finished(failed)
        return [*out, *gradients]

    def cudnn(self) -> list[Tensor]:
        leaves = [v.requires_grad_() for v in (*self.weights, self.h, self.c, self.x)]
        state = self.h, self.c
        out = fused_calls.fused_layer("lstm", self.weights, self.x, *state, resets=self.resets)
        return [*out, *torch.autograd.grad(out, leaves, self.gradients)]

    def exact(self) -> list[Tensor]:
        """In fp64, by the equations, which tests/lstm/test_cells.py holds to NumPy's."""
        values = *self.weights, self.h, self.c, self.x
        leaves = [value.detach().double().requires_grad_() for value in values]
        weights, (h, c, x) = LayerWeights(*leaves[:4]), leaves[4:]
        out = cells.unrolled("lstm", weights, x, h, c, resets=self.resets)
        given = [gradient.double() for gradient in self.gradients]
        return [*out, *torch.autograd.grad(out, leaves, given)]


def distances(found: list[Tensor], exact: list[Tensor]) -> dict[str, float]:
    """Of each result, the norm of its error over its norm."""
    pairs = zip(RESULTS, found, exact, strict=False)
    errors = {name: ((a - b).norm() / (b.norm() + 1e-12)).detach() for name, a, b in pairs}
    return {name: float(error) for name, error in errors.items()}


def check_a_mute_block(name: str, sending: str, *, grid: bool = False) -> None:
    """See that blocks give up where one of each group sends nothing, and that no trace is left.

    `name`: forward or backward; `sending`: how the condition of sending begins in its source.
    """
    text = Path(launch.__file__).with_name(f"{name}.cu").read_text()
    assert text.count(sending) == 1
    mute = text.replace(sending, sending + " rank == 1 ||")
    real, sources = launch._compiled, launch._sources(name)

    @functools.cache
    def made(wanted: str, *about: Any) -> Kernel:
        if wanted != name:
            return real(wanted, *about)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(launch, "_PATIENCE", 1 << 20)
            patch.setattr(launch, "_sources", lambda name: [*sources[:-1], mute])
            return real.__wrapped__(wanted, *about)

    case = Case(5, (6, 20, 256), symbols=False, share=0.0)
    expected = case.persistent(grid=grid)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "_compiled", made)
        with pytest.raises(DeviceError, match="in vain"):
            case.persistent(grid=grid)
    found = case.persistent(grid=grid)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


def random_shape(generator: torch.Generator) -> tuple[int, int, int]:
    """T, B and H; T B is bounded, because fp64 keeps every step."""
    draw = torch.rand(3, generator=generator)
    steps = int(600 ** draw[0])
    lanes = min(int(300 ** draw[1]), 20_000 // steps)
    return max(steps, 1), max(lanes, 1), (int(draw[2] * 8) + 1) * 64
