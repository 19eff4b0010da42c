"""`LSTM` is PyTorch's, to the bit where PyTorch's call runs it, and else to the rounding."""

import copy
import pickle
import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_sequence

from seqkit.lstm import LSTM, KernelError, cells, module
from seqkit.lstm.cells import LayerWeights

T, B, X, H, L = 7, 3, 5, 64, 2
ROUNDED = {torch.float16: 1e-2, torch.bfloat16: 3e-2}
GPU = torch.device("cuda", 0)


def pair(device: Any = "cpu", **settings: Any) -> tuple[nn.LSTM, LSTM]:
    """PyTorch's module and ours with the same weights; `kernel` is of ours."""
    kernel = settings.pop("kernel", "auto")
    theirs = nn.LSTM(X, H, **{"num_layers": L, **settings}, device=device)
    ours = LSTM(X, H, **{"num_layers": L, **settings}, device=device, kernel=kernel)
    ours.load_state_dict(theirs.state_dict())
    return theirs, ours


def drawn(*shape: int, device: Any = "cpu") -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape))).to(device)


def some_resets(lanes: int = B, device: Any = "cpu") -> Tensor:
    generator = torch.Generator().manual_seed(3)
    return torch.rand(T, lanes, generator=generator).lt(0.3).to(device)


def exact(layer: nn.LSTM, given: list[Tensor], dy: Tensor, resets: Tensor | None) -> list[Tensor]:
    """Outputs, state and gradients (of inputs, state and weights) by the equations in fp64."""
    parameters = [value.detach() for value in layer.parameters()]
    leaves = [value.double().requires_grad_() for value in (*given, *parameters)]
    (y, h, c), flat = leaves[:3], leaves[3:]
    count = len(flat) // len(h)
    none = torch.zeros_like(flat[0][:, 0])
    last = []
    for index in range(len(h)):
        state = h[index], c[index]
        weights = LayerWeights(*[*flat[index * count : (index + 1) * count], none, none][:4])
        outputs = []
        for t in range(len(y)):
            if resets is not None:
                over = resets[t, :, None]
                state = state[0].masked_fill(over, 0), state[1].masked_fill(over, 0)
            _, *after = cells.unrolled("lstm", weights, y[t : t + 1], *state)
            outputs.append(after[0])
            state = after[0], after[1]
        y = torch.stack(outputs)
        last.append(state)
    h, c = map(torch.stack, zip(*last, strict=True))
    return [y, h, c, *torch.autograd.grad((y, h, c), leaves, (dy.double(), h.detach(), c.detach()))]


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("kind", ["batch", "state", "unbatched", "packed", "dropout", "no bias"])
def test_on_a_cpu_it_is_pytorchs_to_the_bit(kind: str, batch_first: bool) -> None:
    settings = {"dropout": 0.5} if kind == "dropout" else {"bias": kind != "no bias"}
    x: Tensor | PackedSequence = drawn(T, B, X)
    if kind == "unbatched":
        x = drawn(T, X)
    if kind == "packed":
        x = pack_sequence([drawn(4, X), drawn(2, X)])
    results = []
    for layer in pair(batch_first=batch_first, **settings):
        torch.manual_seed(1)
        lanes = T if batch_first else B
        state = [(drawn(L, lanes, H), drawn(L, lanes, H))] if kind == "state" else []
        y, after = layer(x, *state)
        values = y.data if isinstance(y, PackedSequence) else y
        gradients = torch.autograd.grad(values.sum(), [*layer.parameters()])
        results.append([values, *after, *gradients])
    assert all(torch.equal(a, b) for a, b in zip(*results, strict=True))


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("stateful", [False, True])
def test_a_reset_begins_another_sequence(batch_first: bool, stateful: bool) -> None:
    ours = pair(batch_first=batch_first)[1].double()
    x, resets, dy = drawn(T, B, X).double(), some_resets(), drawn(T, B, H).double()
    assert resets.any(1).sum() > 1
    h = drawn(L, B, H).double() if stateful else torch.zeros(L, B, H).double()
    leaves = [x.requires_grad_(), h.requires_grad_(), (h / 2).detach().requires_grad_()]
    expected = exact(ours, [value.detach() for value in leaves], dy, resets)
    given = (x.transpose(0, 1), resets.T) if batch_first else (x, resets)
    y, (h, c) = ours(given[0], tuple(leaves[1:]), resets=given[1])
    y = y.transpose(0, 1) if batch_first else y
    found = torch.autograd.grad(
        (y, h, c), [*leaves, *ours.parameters()], (dy, h.detach(), c.detach())
    )
    torch.testing.assert_close([y, h, c, *found], expected)


def test_weights_go_to_and_from_pytorchs_module() -> None:
    theirs, ours = pair()
    theirs.load_state_dict(ours.state_dict())
    x = drawn(T, B, X)
    for copied in (copy.deepcopy(ours), pickle.loads(pickle.dumps(ours))):
        assert isinstance(copied, LSTM)
        assert torch.equal(copied(x)[0], theirs(x)[0])


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"bidirectional": True}, "one direction"),
        ({"proj_size": 3}, "no proj_size"),
        ({"kernel": "fast"}, "none of auto, cudnn, persistent"),
    ],
)
def test_other_modules_are_refused_in_one_line(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=rf"\A.*{said}.*\Z"):
        LSTM(X, H, **settings)


@pytest.mark.parametrize(
    "given",
    [
        [drawn(T, B, X + 1)],
        [drawn(T, B, X).double()],
        [drawn(0, B, X)],
        [drawn(T, 0, X)],
        [drawn(1, T, B, X)],
        [drawn(T, B, X), (drawn(L, B + 1, H), drawn(L, B, H))],
        [drawn(T, B, X), (drawn(L, B, H), drawn(L, B, H).double())],
        [drawn(T, B, X) * torch.nan],
    ],
)
@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def test_what_pytorchs_refuses_it_refuses_with_the_same_words(
    given: list[Any], device: str
) -> None:
    def moved(value: Any) -> Any:
        return tuple(map(moved, value)) if isinstance(value, tuple) else value.to(device)

    results = []
    for layer in pair(device):
        try:
            results.append(repr(layer(*map(moved, given))))
        except (RuntimeError, ValueError) as error:
            results.append(str(error))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("resets", "said"),
    [
        (torch.zeros(B, T, dtype=torch.bool), r"of \(3, 7\), not torch.bool of \(7, 3\)"),
        (torch.zeros(T, B), "torch.float32 of"),
        (torch.zeros(T, B, dtype=torch.bool, device="meta"), "on meta, the input is on cpu"),
    ],
)
def test_resets_of_another_kind_are_refused(resets: Tensor, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        pair()[1](drawn(T, B, X), resets=resets)
    with pytest.raises(ValueError, match="three dimensions"):
        pair()[1](drawn(T, X), resets=resets)


@pytest.mark.parametrize("lanes", [1, B + 1])
def test_with_resets_the_rest_of_a_call_is_as_pytorchs(lanes: int) -> None:
    theirs, ours = pair()
    wrong = (drawn(T, B, X), (drawn(L, lanes, H),) * 2), (drawn(0, B, X), None)
    for x, state in wrong:
        with pytest.raises(RuntimeError) as said:
            theirs(x, state)
        with pytest.raises(RuntimeError, match=re.escape(str(said.value))):
            ours(x, state, resets=torch.zeros(x.shape[:2], dtype=torch.bool))


@pytest.mark.filterwarnings("ignore")  # PyTorch's, of its own module, too
def test_an_export_a_trace_and_func_get_pytorchs_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, where a kernel of our own would run."""
    theirs, ours = pair()
    x, asked = drawn(T, B, X), []
    monkeypatch.setattr(Tensor, "is_cuda", True, raising=False)
    monkeypatch.setattr(ours, "_kernel", lambda *given: asked.append(given))
    exported = torch.export.export(ours, (x,), strict=False).module()
    traced = torch.jit.trace(ours, (x,), check_trace=False)  # type: ignore[no-untyped-call]
    for layer in (exported, traced, lambda x: torch.func.vjp(ours, x)[0]):
        assert torch.equal(layer(x)[0], theirs(x)[0])
    assert asked == []
    ours(x)
    assert len(asked) == 1


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("batch_first", [False, True])
def test_around_the_kernels_all_is_pytorchs(
    bias: bool, batch_first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the equations in the kernels' place."""
    monkeypatch.setattr(module, "_failed", lambda device: torch.zeros(1))
    theirs, ours = pair(bias=bias, batch_first=batch_first)
    size = (B, T, X) if batch_first else (T, B, X)
    x, state = drawn(*size), (drawn(L, B, H), drawn(L, B, H) / 2)
    for before in (None, state):
        y, after = ours._run("unrolled", x, before, None)
        expected, last = theirs(x, before)
        torch.testing.assert_close([y, *after], [expected, *last])
        found = torch.autograd.grad(y.square().sum(), [*ours.parameters()])
        wanted = torch.autograd.grad(expected.square().sum(), [*theirs.parameters()])
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-4)


def test_it_compiles_around_one_break() -> None:
    _, ours = pair()
    x = drawn(T, B, X)
    for layer in (ours, nn.Sequential(nn.Linear(X, X), ours)):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        found, _ = torch.compile(layer, backend="eager")(x)
        assert torch.equal(found, layer(x)[0])
        assert sum(torch._dynamo.utils.counters["graph_break"].values()) == 1


gpu = pytest.mark.gpu
PERSISTENT = {"kernel": "persistent", "device": GPU}


@gpu
@pytest.mark.parametrize("dtype", ROUNDED)
@pytest.mark.parametrize("way", ["autocast", "weights"])
@pytest.mark.parametrize("lanes", [3, 32])
@pytest.mark.parametrize("settings", [{}, {"bias": False, "num_layers": 1}, {"batch_first": True}])
@pytest.mark.parametrize("reset", [False, True])
def test_on_a_gpu_it_is_the_equations(
    dtype: torch.dtype, way: str, lanes: int, settings: dict[str, Any], reset: bool
) -> None:
    _, ours = pair(**PERSISTENT, **settings)
    if way == "weights":
        ours = ours.to(dtype)
    kind = torch.float32 if way == "autocast" else dtype
    state = ours.num_layers, lanes, H
    leaves = [
        drawn(*shape, device=GPU).to(kind).requires_grad_()
        for shape in ((T, lanes, X), state, state)
    ]
    dy = drawn(T, lanes, H, device=GPU).to(dtype)
    resets = some_resets(lanes, GPU) if reset else None
    expected = exact(ours, [value.detach() for value in leaves], dy, resets)
    first = settings.get("batch_first", False)
    x = leaves[0].transpose(0, 1) if first else leaves[0]
    over = resets.T if first and resets is not None else resets
    with torch.autocast("cuda", dtype, enabled=way == "autocast"):
        y, (h, c) = ours(x, (leaves[1], leaves[2]), resets=over)
    assert (y.dtype, h.dtype, c.dtype) == (dtype,) * 3
    y = y.transpose(0, 1) if first else y
    given = [value.to(dtype) for value in (dy, expected[1].detach(), expected[2].detach())]
    found = torch.autograd.grad((y, h, c), [*leaves, *ours.parameters()], given)
    assert {part.dtype for part in found} == {kind}
    for a, b in zip([y, h, c, *found], expected, strict=True):
        assert (a - b).norm() <= ROUNDED[dtype] * b.norm()  # of zeros there is no error


@gpu
@pytest.mark.parametrize("kernel", ["auto", "persistent"])
def test_a_recorded_step_is_the_step(kernel: str) -> None:
    _, ours = pair(GPU, kernel=kernel)
    x = drawn(T, B, X, device=GPU)

    def step() -> list[Tensor]:
        with torch.autocast("cuda", torch.float16, cache_enabled=False):
            y, _ = ours(x)
        gradients = torch.autograd.grad(y.float().square().sum(), [*ours.parameters()])
        # A graph that lives on would keep the stream it was made on.
        return [y.detach(), *gradients]

    side = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        expected = step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = step()
    graph.replay()
    for a, b in zip(found, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=2e-2, atol=2e-2)


@gpu
def test_without_gradients_it_gives_the_same_and_runs_compiled() -> None:
    _, ours = pair(**PERSISTENT)
    x = drawn(T, B, X, device=GPU)
    with torch.autocast("cuda", torch.bfloat16):
        y, _ = ours(x)
        with torch.no_grad():
            assert torch.equal(ours(x)[0], y)
        with torch.inference_mode():
            assert torch.equal(ours(x)[0], y)
        compiled = torch.compile(nn.Sequential(nn.Identity(), ours), backend="eager")
        assert torch.equal(compiled(x)[0], y)
    loss = y.float().square().sum()
    first, *_ = torch.autograd.grad(loss, [*ours.parameters()], create_graph=True)
    with pytest.raises(RuntimeError, match="differentiate twice"):
        first.sum().backward()  # type: ignore[no-untyped-call]


@gpu
def test_what_the_kernels_do_not_take_runs_as_before_or_is_refused() -> None:
    x = drawn(T, B, X, device=GPU)
    theirs, ours = pair(**PERSISTENT)
    assert torch.equal(ours(x)[0], theirs(x)[0])  # fp32
    odd = LSTM(X, 100, device=GPU, kernel="persistent")
    with torch.autocast("cuda", torch.float16):
        with pytest.raises(KernelError, match="H is no multiple of 64"):
            odd(x)
        odd.kernel = "auto"
        assert odd(x)[0].shape == (T, B, 100)
        with pytest.raises(RuntimeError):
            ours(x, (torch.zeros(L, B, H), torch.zeros(L, B, H)))
        with torch.no_grad():
            ours.get_parameter("weight_hh_l0")[3, 3] = torch.nan
        assert ours(x)[0].isnan().any()


@gpu
def test_a_capture_chooses_and_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs, ours = pair(GPU)
    x = drawn(T, B, X, device=GPU)
    module._choices().clear()
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    with torch.autocast("cuda", torch.float16):
        assert torch.equal(ours(x)[0], theirs(x)[0])
        ours.kernel = "persistent"
        with pytest.raises(KernelError, match="once at this shape before"):
            ours(x)
    assert module._choices() == {}


@gpu
def test_the_choice_leaves_no_trace() -> None:
    _, ours = pair(GPU)
    seen: list[int] = []
    hook = ours.get_parameter("weight_hh_l0").register_hook
    hook(lambda gradient: seen.append(1))  # type: ignore[no-untyped-call]
    module._choices().clear()
    state = torch.cuda.get_rng_state(), torch.get_rng_state()
    with torch.autocast("cuda", torch.float16):
        ours(drawn(T, B, X, device=GPU))
    assert len(module._choices()) == 2  # of this call, and of the trial's by a kernel of our own
    assert seen == []
    assert all(parameter.grad is None for parameter in ours.parameters())
    assert torch.equal(state[0], torch.cuda.get_rng_state())
    assert torch.equal(state[1], torch.get_rng_state())


@gpu
def test_the_weights_that_run_are_those_of_a_subclass() -> None:
    """Weight dropout, for one, sets `_flat_weights`."""
    theirs, ours = pair(**PERSISTENT)
    with torch.no_grad():
        for parameter in theirs.parameters():
            parameter.mul_(0.5)
    ours._flat_weights = [part * 0.5 for part in ours._flat_weights]
    x, results = drawn(T, B, X, device=GPU), []
    for layer in (theirs, ours):
        with torch.autocast("cuda", torch.float16):
            y, _ = layer(x)
        gradients = torch.autograd.grad(y.float().square().sum(), [*layer.parameters()])
        results.append([y, *gradients])
    (expected, *wanted), (y, *found) = results
    for a, b in zip([expected, *wanted], [y, *(2 * part for part in found)], strict=True):
        assert (a - b).norm() < 1e-2 * a.norm()


@gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="takes two GPUs")
def test_two_devices_in_one_process_give_the_same() -> None:
    layer, results = pair(kernel="persistent")[1], []
    for device in (torch.device("cuda", 0), torch.device("cuda", 1)):
        ours = copy.deepcopy(layer).to(device)
        with torch.autocast("cuda", torch.float16):
            y, _ = ours(drawn(T, B, X, device=device))
            with pytest.raises(RuntimeError):
                ours(drawn(T, B, X, device=torch.device("cuda", 1 - y.get_device())))
        gradients = torch.autograd.grad(y.float().square().sum(), [*ours.parameters()])
        results.append([value.cpu() for value in (y, *gradients)])
    torch.testing.assert_close(*results)
