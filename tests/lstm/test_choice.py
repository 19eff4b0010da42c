"""Which way runs layers: by a rule, and by trials, on a GPU that is not there."""

import dataclasses

import pytest
import torch

from seqkit.lstm import choice
from seqkit.lstm.choice import Execution, Task, fastest
from seqkit.lstm.launch import LayerKernels
from seqkit.lstm.nvrtc import KernelError

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


def task(device: torch.device = GPU, hidden: int = 128, **settings: object) -> Task:
    given = {"cell": "lstm", "input_size": 65, "num_layers": 2, "steps": 20, "lanes": 25}
    return Task(**{**given, "hidden_size": hidden, "device": device, **settings})  # type: ignore[arg-type]


@pytest.fixture
def other_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that has no clusters."""

    def refusal(kernels: LayerKernels, lanes: int) -> str | None:
        return None if kernels.grid and kernels.dtype != torch.float32 else "needs Hopper"

    monkeypatch.setattr(LayerKernels, "refusal", refusal)


@pytest.mark.usefixtures("other_gpu")
@pytest.mark.parametrize(("ours", "kernel"), [(1.0, "grid"), (3.0, "layerwise")])
@pytest.mark.parametrize("hidden", [128, 1024])
def test_the_kernel_without_clusters_runs_where_it_was_measured_faster(
    monkeypatch: pytest.MonkeyPatch, hidden: int, ours: float, kernel: str
) -> None:
    def milliseconds(task: Task, execution: Execution) -> float:
        return ours if execution.kernel == "grid" else 2.0

    monkeypatch.setattr(choice, "_milliseconds", milliseconds)
    layers = task(hidden=hidden)
    assert fastest(layers, ["fp16", "bf16"]) == Execution(kernel, "fp16", 32)
    assert fastest(layers, ["bf16"]) == Execution(kernel, "bf16", 32)
    assert fastest(layers, ["fp32"]).kernel == "layerwise"
    assert fastest(layers, ["fp16"], timed=False).kernel == "layerwise"
    insists = dataclasses.replace(layers, backend="persistent")
    assert fastest(insists, ["fp16"]).kernel == "grid"
    with pytest.raises(KernelError, match="needs Hopper"):
        fastest(insists, ["fp32"])


@pytest.mark.parametrize(
    ("settings", "kernel"),
    [
        ({}, "stacked"),
        ({"num_layers": 1}, "layerwise"),
        ({"lanes": 32}, "layerwise"),
        ({"within": True}, "layerwise"),
        ({"resets": True}, "layerwise"),
        ({"device": CPU}, "layerwise"),
        ({"backend": "unrolled"}, "unrolled"),
    ],
)
def test_one_call_for_all_layers_needs_several_and_many_lanes(
    settings: dict[str, object], kernel: str
) -> None:
    layers = task(**{"hidden": 96, "lanes": 64, **settings})  # type: ignore[arg-type]
    assert fastest(layers, ["fp32"], timed=False).kernel == kernel


@pytest.mark.parametrize("lanes", [24, 25, 32, 1048, 1056, 2000])
def test_an_execution_is_kept_where_its_lanes_are_whole_tiles(lanes: int) -> None:
    fits = lanes % 8 == 0 and 25 <= lanes < 25 + 1024
    assert task(hidden=100).runs(Execution("layerwise", "fp16", lanes)) == fits
    assert task(CPU).runs(Execution("layerwise", "fp32", lanes)) == (lanes == 25)
