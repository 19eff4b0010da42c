"""The update in kernels of our own is PyTorch's, and nothing changes where it must not."""

import pytest
import torch

from seqkit.lstm.execution import Execution
from seqkit.lstm.nvrtc import KernelError
from seqkit.training import optimizer
from seqkit.training.weights import TrainingWeights
from tests.training.test_optimizer import Made, all_of, updater

pytestmark = pytest.mark.gpu


def refused(*_: object) -> None:
    raise KernelError("this PyTorch has no NVRTC")


def both(monkeypatch: pytest.MonkeyPatch, kind: str, **settings: object) -> tuple[Made, Made]:
    """An updater with our kernels, and one by PyTorch's."""
    own = updater(kind, device="cuda", **settings)  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(optimizer, "GpuUpdate", refused)
        theirs = updater(kind, device="cuda", **settings)  # type: ignore[arg-type]
    assert own[0]._on_gpu is not None
    assert theirs[0]._on_gpu is None
    return own, theirs


def fill(weights: TrainingWeights, seed: int, factor: float) -> None:
    generator = torch.Generator("cuda").manual_seed(seed)
    for gradient in weights.gradients:
        gradient.normal_(generator=generator).mul_(factor)


@pytest.mark.parametrize(
    ("precision", "kernel", "hidden"),
    [
        ("fp32", "layerwise", 7),
        ("fp16", "persistent", 64),
        ("bf16", "layerwise", 40),
        ("fp16", "stacked", 72),
    ],
)
@pytest.mark.parametrize(("kind", "momentum"), [("adamw", 0.9), ("sgd", 0.9), ("sgd", 0.0)])
@pytest.mark.parametrize("norm", [0.0, 0.3])
@pytest.mark.parametrize("average", [0.0, 0.9])
def test_it_is_pytorchs(
    precision: str,
    kernel: str,
    hidden: int,
    kind: str,
    momentum: float,
    norm: float,
    average: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    execution = Execution(kernel, precision, 8)
    settings = {"execution": execution, "hidden": hidden, "momentum": momentum}
    settings |= {"norm": norm, "average": average, "scaled": precision == "fp16"}
    own, theirs = both(monkeypatch, kind, **settings)
    for step in range(6):
        for made, weights in (own, theirs):
            made.set_rate(0.01 / (step + 1))
            if weights.average is not None:
                weights.average.set_step(step)
            overflow = step == 2 and precision == "fp16"
            scale = 65536.0 if made._scaled else 1.0
            fill(weights, step, float("inf") if overflow else 0.25 * scale)
            made.update()
    expected = all_of(theirs)
    for name, found in all_of(own).items():
        tolerance = 2e-3 if found.dtype in (torch.float16, torch.bfloat16) else 3e-6
        torch.testing.assert_close(found, expected[name], atol=tolerance, rtol=1e-5)


@pytest.mark.parametrize("kind", ["adamw", "sgd"])
def test_it_goes_on_from_what_pytorchs_left(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own, theirs = both(monkeypatch, kind)
    for made, weights in (own, theirs):
        made.set_rate(0.01)
        fill(weights, 1, 1.0)
        made.update()
    own[0].restore({name: values.clone() for name, values in theirs[0].state().items()})
    with torch.no_grad():
        for a, b in zip(own[1].parameters, theirs[1].parameters, strict=True):
            a.copy_(b)
    for made, weights in (own, theirs):
        fill(weights, 2, 1.0)
        made.update()
    expected = all_of(theirs)
    for name, found in all_of(own).items():
        torch.testing.assert_close(found, expected[name], atol=3e-6, rtol=1e-5)


def test_it_repeats_to_the_bit() -> None:
    found = []
    for _ in range(20):
        made = own, weights = updater(device="cuda", norm=0.3, average=0.9, hidden=200)
        own.set_rate(0.01)
        for step in range(3):
            weights.average.set_step(step)  # type: ignore[union-attr]
            fill(weights, step, 0.2)
            own.update()
        found.append(all_of(made))
    for other in found[1:]:
        assert all(torch.equal(other[name], values) for name, values in found[0].items())
