"""A step is the same step however it runs: in other lanes, other calls, or as a CUDA graph."""

import pytest
import torch

from seqkit.config import OptimizerConfig
from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN
from seqkit.model.network import cross_entropy
from seqkit.model.state import State
from seqkit.training.step import TrainingStep
from tests.training.stepping import GPU, B, learned, require_near, step, trained


@pytest.mark.parametrize("documents", [1, 9])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("cell", ["lstm", "rnn_relu"])
@pytest.mark.parametrize("sound", [False, True])
def test_idle_lanes_change_nothing(documents: int, dropout: float, cell: str, sound: bool) -> None:
    settings = {"documents": documents, "dropout": dropout, "cell": cell, "sound": sound}
    plain = trained(*step(Execution("layerwise", "fp32", B), **settings))  # type: ignore[arg-type]
    padded = trained(*step(Execution("layerwise", "fp32", B + 3), **settings))  # type: ignore[arg-type]
    for a, b in zip(plain, padded, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def scaled(stepper: TrainingStep, scale: float) -> TrainingStep:
    """A step with the loss scale of fp16, in the precision it has."""
    stepper._optimizer._scaled = True
    stepper._optimizer.scale.fill_(scale)
    return stepper


@pytest.mark.thorough(keep=8)
@pytest.mark.parametrize("norm", [0.0, 0.3])
@pytest.mark.parametrize("scale", [0.0, 4096.0])
@pytest.mark.parametrize("documents", [1, 9])
def test_an_update_is_what_pytorch_makes_of_the_mean_loss(
    norm: float, scale: float, documents: int
) -> None:
    model, stepper = step(
        Execution("layerwise", "fp32", B),
        "cpu",
        documents,
        OptimizerConfig(weight_decay=0.1),
        clip_norm=norm,
    )
    if scale:
        scaled(stepper, scale)
    reference, _ = step(Execution("layerwise", "fp32", B))
    weights = reference.runnable_weights().tensors()
    groups = [
        {"params": [w for w in weights if w.dim() > 1], "weight_decay": 0.1},
        {"params": [w for w in weights if w.dim() == 1], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=0.01, betas=(0.9, 0.99))
    state = reference.zero_state(B)
    for number in range(5):
        stepper.run(number, 0.01)
        window = stepper._lanes.window(number)
        before = State(*(part.detach() for part in state))
        logits, state = reference(window.inputs, before, None, window.resets)
        optimizer.zero_grad()
        cross_entropy(logits, window.targets).backward()  # type: ignore[no-untyped-call]
        expected = torch.nn.utils.get_total_norm([w.grad for w in weights if w.grad is not None])
        assert stepper.gradient_norm == pytest.approx(float(expected), rel=1e-4)
        torch.nn.utils.clip_grad_norm_(weights, norm or 1e9)
        optimizer.step()
    for a, b in zip(model.parameters(), reference.parameters(), strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


def test_one_call_for_all_layers_changes_nothing() -> None:
    kernels = ("layerwise", "stacked")
    apart, together = (trained(*step(Execution(kernel, "fp32", B))) for kernel in kernels)
    for a, b in zip(apart, together, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


@GPU
@pytest.mark.parametrize("precision", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("documents", [1, 9])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("sound", [False, True])
def test_a_graph_replays_what_eager_does(
    precision: str, documents: int, dropout: float, sound: bool
) -> None:
    def make() -> tuple[CharRNN, TrainingStep]:
        return step(
            *(Execution("layerwise", precision, 8), "cuda", documents),
            dropout=dropout,
            sound=sound,
        )

    eager = trained(*make())
    model, stepper = make()
    stepper.capture()
    for a, b in zip(eager, trained(model, stepper), strict=True):
        torch.testing.assert_close(a, b, atol=2e-3, rtol=1e-2)


NOISE: dict[str, object] = {
    "input": "embedding",
    "embedding_size": 8,
    "input_dropout": 0.2,
    "dropout": 0.3,
    "output_dropout": 0.4,
    "weight_drop": 0.5,
    "skip_connections": True,
}


@pytest.mark.parametrize("documents", [1, 9])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
def test_all_kernels_leave_the_same_out(documents: int, cell: str) -> None:
    ways = Execution("layerwise", "fp32", B), Execution("unrolled", "fp32", B + 3)
    fused, plain = (trained(*step(way, documents=documents, cell=cell, **NOISE)) for way in ways)  # type: ignore[arg-type]
    for a, b in zip(fused, plain, strict=True):
        torch.testing.assert_close(a, b, atol=1e-5, rtol=1e-4)


@GPU
@pytest.mark.parametrize("kernel", ["layerwise", "persistent"])
def test_a_graph_leaves_out_what_eager_does(kernel: str) -> None:
    settings = {**NOISE, "hidden_size": 64, "documents": 9}
    way = Execution(kernel, "fp16", 8)
    require_near(learned(way, True, settings), learned(way, False, settings))
