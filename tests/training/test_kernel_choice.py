"""An execution runs what it says, and is kept where it can be."""

import numpy as np
import pytest

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.lstm.execution import Execution
from seqkit.lstm.fused_calls import round_up
from seqkit.lstm.launch import LayerKernels
from seqkit.model.char_rnn import CharRNN
from seqkit.training import kernel_choice
from seqkit.training.kernel_choice import choose_execution


def setting(
    device: str, hidden: int = 128, documents: int = 1, lanes: int = 25, **model: object
) -> tuple[CharRNN, Lanes]:
    config = ModelConfig(
        **{"num_layers": 2, "hidden_size": hidden, "vocabulary_size": 65, **model}  # type: ignore[arg-type]
    )
    starts = np.arange(documents, dtype=np.int64) * 100
    part = Part(np.zeros(lanes * 20 * 8, np.uint8), starts)
    return CharRNN(config).to(device), Lanes(part, 0, lanes, 20)


@pytest.mark.parametrize(
    ("backend", "kernel"),
    [("auto", "layerwise"), ("cudnn", "layerwise"), ("unrolled", "unrolled")],
)
def test_a_cpu_runs_as_it_is_told(backend: str, kernel: str) -> None:
    model, lanes = setting("cpu", backend=backend)
    assert choose_execution(model, lanes, precisions=["bf16", "fp32"]) == Execution(
        kernel, "bf16", 25
    )


def test_a_resumed_run_keeps_its_execution_though_the_rule_has_another() -> None:
    model, lanes = setting("cpu")
    before = Execution("stacked", "bf16", 25)
    precisions = ["fp32", "bf16"]
    assert choose_execution(model, lanes, precisions=precisions, before=before) == before
    other = Execution("stacked", "fp16", 32)
    chosen = choose_execution(model, lanes, precisions=precisions, before=other)
    assert chosen == Execution("layerwise", "fp32", 25)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("change", "kernel"),
    [
        ({}, "persistent"),
        ({"documents": 3, "dropout": 0.1}, "persistent"),
        ({"hidden": 96}, "layerwise"),
        ({"hidden": 96, "lanes": 64}, "stacked"),
        ({"hidden": 96, "lanes": 64, "dropout": 0.1}, "layerwise"),
        ({"hidden": 96, "lanes": 64, "num_layers": 1}, "layerwise"),
        ({"cell": "gru"}, "layerwise"),
        ({"backend": "cudnn"}, "layerwise"),
        ({"backend": "persistent"}, "persistent"),
    ],
)
@pytest.mark.parametrize("timed", [False, True])
def test_a_rule_chooses_the_kernel(change: dict[str, object], kernel: str, timed: bool) -> None:
    model, lanes = setting("cuda", **change)  # type: ignore[arg-type]
    found = choose_execution(model, lanes, precisions=["fp16", "bf16"], timed=timed)
    assert (found.kernel, found.lanes) == (kernel, round_up(lanes.batch_size, 8))
    assert timed or found.precision == "fp16"


@pytest.fixture
def other_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The CPU stands for a GPU that has no clusters."""
    monkeypatch.setattr(kernel_choice, "_on_gpu", lambda model: True)

    def refusal(kernels: LayerKernels, lanes: int) -> str | None:
        return None if kernels.grid else "needs Hopper"

    monkeypatch.setattr(LayerKernels, "refusal", refusal)


@pytest.mark.usefixtures("other_gpu")
@pytest.mark.parametrize(("ours", "kernel"), [(1.0, "grid"), (3.0, "layerwise")])
@pytest.mark.parametrize("hidden", [128, 1024])
def test_the_kernel_without_clusters_runs_where_it_was_measured_faster(
    monkeypatch: pytest.MonkeyPatch, hidden: int, ours: float, kernel: str
) -> None:
    def milliseconds(model: CharRNN, lanes: Lanes, execution: Execution) -> float:
        return ours if execution.kernel == "grid" else 2.0

    monkeypatch.setattr(kernel_choice, "_milliseconds", milliseconds)
    model, lanes = setting("cpu", hidden)
    found = choose_execution(model, lanes, precisions=["fp16", "bf16"])
    assert found == Execution(kernel, "fp16", 32)
    assert choose_execution(model, lanes, precisions=["bf16"]) == Execution(kernel, "bf16", 32)
    assert choose_execution(model, lanes, precisions=["fp32"]).kernel == "layerwise"
    assert choose_execution(model, lanes, precisions=["fp16"], timed=False).kernel == "layerwise"
    insists, lanes = setting("cpu", hidden, backend="persistent")
    assert choose_execution(insists, lanes, precisions=["fp16"]).kernel == "grid"
