"""What docs/how/cudnn.md answers, checked: on the CPU anywhere, on cuDNN with `-m gpu`."""

import pytest
import torch
from torch import Tensor, nn

T, B, X, H, L = 5, 3, 7, 4, 2  # all different, so that no two can be mistaken for each other
DTYPE = torch.float64


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def normal(seed: int, *shape: int, device: str) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(shape, generator=generator, dtype=DTYPE).to(device).requires_grad_()


def stack(device: str) -> nn.LSTM:
    net = nn.LSTM(X, H, L).to(device, DTYPE)
    with torch.no_grad():
        for seed, parameter in enumerate(net.parameters()):
            parameter.copy_(normal(seed, *parameter.shape, device=device))
    return net


def given(device: str) -> tuple[Tensor, Tensor, Tensor]:
    """x (T, B, X), hx and cx (L, B, H)."""
    return (
        normal(11, T, B, X, device=device),
        normal(12, L, B, H, device=device),
        normal(13, L, B, H, device=device),
    )


def test_one_call_is_the_whole_stack(device: str) -> None:
    net, (x, hx, cx) = stack(device), given(device)
    y, (hy, cy) = net(x, (hx, cx))
    each = x
    for layer in range(L):
        single = nn.LSTM(each.shape[-1], H).to(device, DTYPE)
        own = [value for name, value in net.named_parameters() if name.endswith(f"l{layer}")]
        with torch.no_grad():
            for parameter, value in zip(single.parameters(), own, strict=True):
                parameter.copy_(value)
        each, (h, c) = single(each, (hx[layer, None], cx[layer, None]))
        torch.testing.assert_close(h[0], hy[layer])
        torch.testing.assert_close(c[0], cy[layer])
    torch.testing.assert_close(each, y)


def test_their_gradients_differ_by_what_the_cut_leaves_out(device: str) -> None:
    net, (x, hx, cx) = stack(device), given(device)
    weights = list(net.parameters())

    def gradients(cut: bool) -> list[Tensor]:
        """Of the sum of y over both windows; `cut` detaches the state between them."""
        first, (h, c) = net(x[:2], (hx, cx))
        second, _ = net(x[2:], (h.detach(), c.detach()) if cut else (h, c))
        return list(torch.autograd.grad(torch.cat([first, second]).sum(), weights))

    whole = torch.autograd.grad(net(x, (hx, cx))[0].sum(), weights)
    torch.testing.assert_close(gradients(cut=False), list(whole))
    # What is left out is the path from the second window's outputs back into the first window.
    _, (h, c) = net(x[:2], (hx, cx))
    second, _ = net(x[2:], (h, c))
    into_state = torch.autograd.grad(second.sum(), (h, c), retain_graph=True)
    left_out = torch.autograd.grad((h, c), weights, into_state)
    found = [a - b for a, b in zip(whole, left_out, strict=True)]
    torch.testing.assert_close(gradients(cut=True), found)
    assert max(float(part.abs().max()) for part in left_out) > 1e-3


def test_backward_gives_the_numeric_gradients_of_everything(device: str) -> None:
    net, (x, hx, cx) = stack(device), given(device)
    names = [name for name, _ in net.named_parameters()]

    def run(x: Tensor, hx: Tensor, cx: Tensor, *weights: Tensor) -> tuple[Tensor, ...]:
        values = dict(zip(names, weights, strict=True))
        y, (hy, cy) = torch.func.functional_call(net, values, (x, (hx, cx)))
        return y, hy, cy

    # dx, dhx, dcx and dw, given dy, dhy and dcy.
    inputs = (x, hx, cx, *(value.detach().requires_grad_() for value in net.parameters()))
    assert torch.autograd.gradcheck(run, inputs, fast_mode=True, nondet_tol=1e-12)


def test_the_rows_of_a_matrix_are_the_gates_i_f_g_o(device: str) -> None:
    net, (x, hx, cx) = stack(device), given(device)

    def shut(*gates: int) -> tuple[Tensor, Tensor]:
        """hy and cy of the bottom layer when the pre-activations of these gates are far below 0."""
        with torch.no_grad():
            parameter = net.get_parameter("bias_ih_l0")
            bias = parameter.clone()
            for gate in gates:
                parameter[gate * H : (gate + 1) * H] = -1000.0
            _, (hy, cy) = net(x[:1], (hx, cx))
            parameter.copy_(bias)
        return hy[0], cy[0]

    zeros = torch.zeros(B, H, dtype=DTYPE, device=device)
    torch.testing.assert_close(shut(0, 1)[1], zeros)  # i and f: nothing comes in, nothing stays
    torch.testing.assert_close(shut(3)[0], zeros)  # o: nothing is shown
    assert shut(0)[1].abs().min() > 0
    assert shut(1)[1].abs().min() > 0
    assert (shut(1, 2)[1] <= 0).all()  # g: only -1 comes in
