"""An execution runs what it says, and is kept where it can be."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.kernels.graph import Recording
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.model.padding import round_up
from seqkit.model.persistent import launch
from seqkit.training import kernel_choice
from seqkit.training.kernel_choice import (
    ExecutionChoice,
    candidates,
    choose_execution,
    supported,
)

FIRST, SECOND, THIRD = (Execution(k, "fp16", 32) for k in ("layerwise", "stacked", "unrolled"))


def setting(
    device: str, hidden: int = 128, documents: int = 1, **model: object
) -> tuple[CharRNN, Lanes]:
    config = ModelConfig(
        **{"num_layers": 2, "hidden_size": hidden, "vocabulary_size": 65, **model}  # type: ignore[arg-type]
    )
    starts = np.arange(documents, dtype=np.int64) * 100
    part = Part(np.zeros(25 * 20 * 8, np.uint8), starts)
    return CharRNN(config).to(device), Lanes(part, 0, 25, 20)


TIMES = {FIRST: 2.0, SECOND: 1.5, THIRD: 9.0}


def test_a_choice_names_what_was_measured() -> None:
    assert str(ExecutionChoice(FIRST, {})) == "fp16, one call a layer, 32 lanes"
    text = "fp16, one call for all layers, 32 lanes 1.50 ms (measured; fp16, one call a layer"
    assert str(ExecutionChoice(SECOND, TIMES)).startswith(text)


def test_a_record_with_a_million_idle_lanes_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    model, lanes = setting("cpu")
    monkeypatch.setattr(kernel_choice, "_on_gpu", lambda model: True)
    for count, kept in ((32, True), (64, True), (1 << 20, False)):
        execution = Execution("layerwise", "fp32", count)
        assert supported(execution, model, lanes, ["fp32"]) == kept


@pytest.mark.parametrize(
    ("backend", "kernel"),
    [("auto", "layerwise"), ("cudnn", "layerwise"), ("unrolled", "unrolled")],
)
def test_a_cpu_runs_as_it_is_told(backend: str, kernel: str, tmp_path: Path) -> None:
    model, lanes = setting("cpu", backend=backend)
    expected = Execution(kernel, "bf16", 25)
    assert candidates(model, lanes, ["bf16"]) == [expected]
    choice = choose_execution(model, lanes, precisions=["bf16"], cache=tmp_path)
    assert choice == ExecutionChoice(expected, {})
    assert not list(tmp_path.iterdir())


def test_a_resumed_run_keeps_its_execution_though_a_search_would_not_try_it(tmp_path: Path) -> None:
    model, lanes = setting("cpu")
    before = Execution("stacked", "bf16", 25)
    precisions = ["fp32", "bf16"]
    assert before not in candidates(model, lanes, precisions)
    choice = choose_execution(model, lanes, precisions=precisions, cache=tmp_path, before=before)
    assert choice.execution == before
    other = Execution("stacked", "fp16", 32)
    choice = choose_execution(model, lanes, precisions=precisions, cache=tmp_path, before=other)
    assert choice.execution == Execution("layerwise", "fp32", 25)


@pytest.mark.parametrize(
    ("change", "execution", "runs"),
    [
        ({}, Execution("layerwise", "fp32", 25), True),
        ({}, Execution("layerwise", "fp32", 24), False),
        ({}, Execution("layerwise", "fp32", 32), False),
        ({}, Execution("layerwise", "fp16", 25), False),
        ({}, Execution("unrolled", "fp32", 25), False),
        ({"backend": "unrolled"}, Execution("unrolled", "fp32", 25), True),
        ({"backend": "unrolled"}, Execution("layerwise", "fp32", 25), False),
        ({"dropout": 0.1}, Execution("layerwise", "fp32", 25), True),
        ({"dropout": 0.1}, Execution("stacked", "fp32", 25), False),
        ({"documents": 3}, Execution("stacked", "fp32", 25), False),
    ],
)
def test_an_execution_is_supported_where_it_can_run(
    change: dict[str, object], execution: Execution, runs: bool
) -> None:
    model, lanes = setting("cpu", **change)  # type: ignore[arg-type]
    assert supported(execution, model, lanes, ["fp32", "bf16"]) == runs


@pytest.mark.gpu
@pytest.mark.parametrize(("count", "runs"), [(25, False), (24, False), (32, True), (40, True)])
def test_a_gpu_wants_whole_tiles_of_lanes(count: int, runs: bool) -> None:
    model, lanes = setting("cuda")
    execution = Execution("stacked", "fp16", count)
    assert supported(execution, model, lanes, ["fp16", "bf16"]) == runs


@pytest.mark.gpu
@pytest.mark.parametrize(("hidden", "nearest"), [(500, 504), (3, 8), (510, 512)])
def test_a_width_that_misses_the_fast_kernels_is_named(hidden: int, nearest: int) -> None:
    advice = kernel_choice.width_advice(setting("cuda", hidden)[0])
    assert advice is not None
    assert advice.endswith(f"nearest is {nearest}")
    assert kernel_choice.width_advice(setting("cuda", 512)[0]) is None


@pytest.mark.gpu
def test_the_search_takes_the_fastest_and_remembers_it(tmp_path: Path) -> None:
    model, lanes = setting("cuda", backend="cudnn")
    precisions = ["fp16", "bf16"]
    choice = choose_execution(model, lanes, precisions=precisions, cache=tmp_path)
    assert len(choice.milliseconds) == 4
    assert choice.milliseconds[choice.execution] == min(choice.milliseconds.values())
    assert choice.execution.lanes == 32
    place = tmp_path / "kernel_times.json"
    file = json.loads(place.read_text())
    (known,) = file["milliseconds"].values()
    wanted = Execution("layerwise", "bf16", 32)
    known[json.dumps(wanted.to_record())] = 1e-3
    place.write_text(json.dumps(file))
    again = choose_execution(model, lanes, precisions=precisions, cache=tmp_path)
    assert again.execution == wanted
    assert again.milliseconds == choice.milliseconds | {wanted: 1e-3}


@pytest.mark.gpu
def test_a_search_without_memory_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, lanes = setting("cuda", backend="cudnn")

    def fail(*_: object) -> Recording:
        raise torch.OutOfMemoryError("CUDA out of memory.")

    with monkeypatch.context() as patch:
        patch.setattr(kernel_choice, "forward_backward", fail)
        choice = choose_execution(model, lanes, precisions=["fp16"], cache=tmp_path)
        assert choice == ExecutionChoice(Execution("layerwise", "fp16", 32), {})
    choice = choose_execution(model, lanes, precisions=["fp16"], cache=tmp_path)
    assert len(choice.milliseconds) == 2


@pytest.mark.gpu
def test_dropout_rules_out_one_call_for_all_layers(tmp_path: Path) -> None:
    model, lanes = setting("cuda", dropout=0.1, backend="cudnn")
    choice = choose_execution(model, lanes, precisions=["fp16"], cache=tmp_path)
    assert list(choice.milliseconds) == [Execution("layerwise", "fp16", 32)]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({}, "model.backend=persistent needs a GPU of capability 9.0"),
        ({"hidden": 100}, "a multiple of 64 up to 512, not lstm with 100"),
        ({"hidden": 1024}, "not lstm with 1024"),
        ({"cell": "gru"}, "not gru with 128"),
    ],
)
def test_the_persistent_kernel_by_name_is_refused_where_it_cannot_run(
    change: dict[str, object], words: str, tmp_path: Path
) -> None:
    model, lanes = setting("cpu", backend="persistent", **change)  # type: ignore[arg-type]
    with pytest.raises((ConfigError, DeviceError), match=words):
        choose_execution(model, lanes, precisions=["fp32"], cache=tmp_path)


PERSISTENT = Execution("persistent", "fp16", 32)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("change", "kernels"),
    [
        ({}, ["layerwise", "stacked", "persistent"]),
        ({"dropout": 0.1}, ["layerwise", "persistent"]),
        ({"documents": 3}, ["layerwise", "persistent"]),
        ({"num_layers": 1}, ["layerwise", "persistent"]),
        ({"hidden": 96}, ["layerwise", "stacked"]),
        ({"cell": "gru"}, ["layerwise", "stacked"]),
        ({"backend": "cudnn"}, ["layerwise", "stacked"]),
        ({"backend": "persistent"}, ["persistent"]),
    ],
)
def test_the_persistent_kernel_is_tried_in_fp16_beside_cudnns(
    change: dict[str, object], kernels: list[str]
) -> None:
    model, lanes = setting("cuda", **change)  # type: ignore[arg-type]
    assert [tried.kernel for tried in candidates(model, lanes, ["fp16"])] == kernels
    assert PERSISTENT not in candidates(setting("cuda")[0], lanes, ["bf16"])
    assert supported(PERSISTENT, model, lanes, ["fp16"]) == ("persistent" in kernels)
    assert kernel_choice.why_not_persistent(model) is None


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("change", "kernel"),
    [
        ({}, "persistent"),
        ({"documents": 3, "dropout": 0.1}, "persistent"),
        ({"hidden": 96}, "layerwise"),
        ({"cell": "gru"}, "layerwise"),
        ({"backend": "cudnn"}, "layerwise"),
    ],
)
def test_without_a_search_a_rule_takes_the_persistent_kernel_where_it_runs(
    change: dict[str, object], kernel: str, tmp_path: Path
) -> None:
    model, lanes = setting("cuda", **change)  # type: ignore[arg-type]
    precisions = ["fp16", "bf16"]
    choice = choose_execution(model, lanes, precisions=precisions, cache=tmp_path, search=False)
    assert choice == ExecutionChoice(Execution(kernel, "fp16", round_up(lanes.batch_size, 8)), {})
    assert not list(tmp_path.iterdir())


@pytest.mark.gpu
def test_a_gpu_without_the_persistent_kernel_trains_by_cudnn(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "clusters_at_once", lambda device, hidden: 0)
    model, lanes = setting("cuda")
    assert PERSISTENT not in candidates(model, lanes, ["fp16"])
    assert "cuDNN runs the layers" in str(kernel_choice.why_not_persistent(model))
    model, lanes = setting("cuda", backend="persistent")
    with pytest.raises(DeviceError, match=r"needs clusters of 4 blocks.*use model.backend=cudnn"):
        choose_execution(model, lanes, precisions=["fp16"], cache=tmp_path)


@pytest.mark.gpu
def test_a_persistent_kernel_that_fails_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise DeviceError("the GPU refuses the kernel")

    monkeypatch.setattr(launch, "forward", fail)
    model, lanes = setting("cuda", num_layers=1)
    choice = choose_execution(model, lanes, precisions=["fp16"], cache=tmp_path)
    assert list(choice.milliseconds) == [Execution("layerwise", "fp16", 32)]
    assert choice.refused == "the GPU refuses the kernel"
    unmeasured = choose_execution(model, lanes, precisions=["fp16"], cache=tmp_path, search=False)
    assert unmeasured == ExecutionChoice(choice.execution, {}, choice.refused)


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("execution", "persistent"),
    [
        (Execution("layerwise", "fp16", 32), True),
        (Execution("stacked", "fp16", 32), False),
        (Execution("layerwise", "bf16", 32), False),
    ],
)
def test_an_execution_launches_the_kernels_that_it_names(
    execution: Execution, persistent: bool
) -> None:
    model, lanes = setting("cuda", 512)
    run, _ = kernel_choice.forward_backward(model, lanes, execution)
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, acc_events=True) as profile:
        run()
        torch.cuda.synchronize()
    names = [event.key for event in profile.key_averages()]
    assert names
    assert any("persist" in name.lower() for name in names) == persistent, names
