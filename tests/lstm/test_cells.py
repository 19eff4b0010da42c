"""Fused calls and equations are the same function: values, gradients, resets."""

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor

from seqkit.lstm.cells import LayerWeights, Outputs, unrolled
from seqkit.lstm.fused_calls import fused_layer

T, B, X, H = 7, 3, 5, 4  # all different, so that no two can be mistaken for each other
GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
CELLS = list(GATES)
Array = npt.NDArray[np.float64]
DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]


class Case:
    """Weights, inputs, state and a direction in which the outputs are summed up."""

    def __init__(self, cell: str, device: str = "cpu", dtype: torch.dtype = torch.float64) -> None:
        generator = torch.Generator().manual_seed(CELLS.index(cell))

        def normal(*shape: int) -> Tensor:
            values = torch.randn(shape, generator=generator, dtype=torch.float64)
            return values.to(device, dtype).requires_grad_()

        gates = GATES[cell] * H
        self.cell = cell
        self.weights = LayerWeights(
            normal(gates, X), normal(gates, H), normal(gates), normal(gates)
        )
        self.x, self.h, self.c = normal(T, B, X), normal(B, H), normal(B, H)
        self.direction = Outputs(normal(T, B, H), normal(B, H), normal(B, H))
        self.resets = torch.zeros(T, B, dtype=torch.bool, device=device)
        for t, b in ((0, 1), (2, 0), (2, 2), (5, 0), (6, 1)):
            self.resets[t, b] = True

    def gradients(self, out: Outputs) -> list[Tensor]:
        """Of a sum over all outputs, by weights, inputs and state (dw, dx, dhx, dcx)."""
        total = sum((a * b).sum() for a, b in zip(out, self.direction, strict=True))
        assert isinstance(total, Tensor)
        return list(torch.autograd.grad(total, [*self.weights, self.x, self.h, self.c]))

    def run(self, way: object, resets: Tensor | None = None) -> Outputs:
        assert callable(way)
        out = way(self.cell, self.weights, self.x, self.h, self.c, resets=resets)
        assert isinstance(out, Outputs)
        return out


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def oracle(case: Case) -> tuple[Array, Array, Array]:
    """The docstring's equations in NumPy, one lane at a time."""
    w, u, b, d = (part.detach().numpy() for part in case.weights)
    x = case.x.detach().numpy()
    h, c = case.h.detach().numpy().copy(), case.c.detach().numpy().copy()
    y = np.zeros((T, B, H))
    for lane in range(B):
        for t in range(T):
            a, r = w @ x[t, lane] + b, u @ h[lane] + d
            if case.cell == "lstm":
                i, f, g, o = np.split(a + r, 4)
                c[lane] = sigmoid(f) * c[lane] + sigmoid(i) * np.tanh(g)
                h[lane] = sigmoid(o) * np.tanh(c[lane])
            elif case.cell == "gru":
                (ar, az, an), (rr, rz, rn) = np.split(a, 3), np.split(r, 3)
                n = np.tanh(an + sigmoid(ar + rr) * rn)
                z = sigmoid(az + rz)
                h[lane] = (1 - z) * n + z * h[lane]
            elif case.cell == "rnn_tanh":
                h[lane] = np.tanh(a + r)
            else:
                h[lane] = np.maximum(0, a + r)
            y[t, lane] = h[lane]
    return y, h, c


@pytest.mark.parametrize("way", [fused_layer, unrolled])
@pytest.mark.parametrize("cell", CELLS)
def test_both_ways_equal_numpys_equations(cell: str, way: object) -> None:
    case = Case(cell)
    for found, expected in zip(case.run(way), oracle(case), strict=True):
        np.testing.assert_allclose(found.detach().numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("cell", CELLS)
def test_values_and_gradients_agree_in_float64(cell: str, device: str, separated: bool) -> None:
    case = Case(cell, device)
    resets = case.resets if separated else None
    first, second = case.run(fused_layer, resets), case.run(unrolled, resets)
    for a, b in zip(first, second, strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=0)
    for a, b in zip(case.gradients(first), case.gradients(second), strict=True):
        torch.testing.assert_close(a, b, atol=1e-10, rtol=0)


@pytest.mark.gpu
@pytest.mark.parametrize("separated", [False, True])
@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float32, 1e-2), (torch.bfloat16, 1e-1), (torch.float16, 2e-2)]
)
@pytest.mark.parametrize("cell", CELLS)
def test_cudnn_agrees_to_the_precision_of_its_dtype(
    cell: str, dtype: torch.dtype, tolerance: float, separated: bool
) -> None:
    exact, rounded = Case(cell, "cuda"), Case(cell, "cuda", dtype)
    resets = exact.resets if separated else None
    expected, found = exact.run(unrolled, resets), rounded.run(fused_layer, resets)
    pairs = [*zip(found, expected, strict=True)]
    pairs += zip(rounded.gradients(found), exact.gradients(expected), strict=True)
    for a, b in pairs:
        assert ((a - b).abs() <= tolerance * b.abs().max().clamp(min=1.0)).all()


@pytest.mark.parametrize("cell", CELLS)
def test_gradients_of_the_equations_equal_numeric_ones(cell: str) -> None:
    case = Case(cell)

    def run(*tensors: Tensor) -> tuple[Tensor, ...]:
        *weights, x, h, c = tensors
        return tuple(unrolled(cell, LayerWeights(*weights), x, h, c, resets=case.resets))

    assert torch.autograd.gradcheck(run, (*case.weights, case.x, case.h, case.c), fast_mode=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("cell", CELLS)
def test_nothing_crosses_a_separator(cell: str, device: str) -> None:
    case = Case(cell, device)
    out = case.run(fused_layer, case.resets)
    # Lane 0 has separators at 2 and 5: steps 3 and 4 are a sequence of their own.
    alone = fused_layer(
        cell, case.weights, case.x[3:5], torch.zeros_like(case.h), torch.zeros_like(case.c)
    )
    torch.testing.assert_close(out.y[3:5, 0], alone.y[:, 0])
    dx, dh = torch.autograd.grad(out.y[3:5, 0].sum(), [case.x, case.h])
    assert dx[3:5, 0].all()
    assert not dx[:3].any()
    assert not dx[5:].any()
    assert not dh.any()
