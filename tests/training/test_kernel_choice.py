"""An execution runs what it says, and is kept where it can be."""

import numpy as np
import pytest

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN
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
    assert (found.kernel, found.lanes) == (kernel, -(-lanes.batch_size // 8) * 8)
    assert timed or found.precision == "fp16"
