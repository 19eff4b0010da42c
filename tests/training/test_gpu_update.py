"""The update in kernels of our own is PyTorch's, and nothing changes where it must not."""

import pytest
import torch

from seqkit.lstm import Execution, KernelError
from seqkit.training import optimizer
from seqkit.training.weights import TrainingWeights
from tests.training.test_optimizer import Made, all_of, updater

pytestmark = pytest.mark.gpu


def refused(*_: object) -> None:
    raise KernelError("this PyTorch has no NVRTC")


def both(monkeypatch: pytest.MonkeyPatch, **settings: object) -> tuple[Made, Made]:
    """An updater with our kernels, and one by PyTorch's."""
    own = updater(device="cuda", **settings)  # type: ignore[arg-type]
    with monkeypatch.context() as patch:
        patch.setattr(optimizer, "_GpuUpdate", refused)
        theirs = updater(device="cuda", **settings)  # type: ignore[arg-type]
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
@pytest.mark.parametrize("norm", [0.0, 0.3])
@pytest.mark.parametrize("average", [0.0, 0.9])
def test_it_is_pytorchs(
    precision: str,
    kernel: str,
    hidden: int,
    norm: float,
    average: float,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    execution = Execution(kernel, precision, 8)
    settings = {"execution": execution, "hidden": hidden}
    settings |= {"norm": norm, "average": average, "scaled": precision == "fp16"}
    own, theirs = both(monkeypatch, **settings)
    for step in range(6):
        for made, weights in (own, theirs):
            made.rate.fill_(0.01 / (step + 1))
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
