"""The search finds an execution that runs what it says, and remembers it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.model.char_rnn import CharRNN
from seqkit.model.execution import Execution
from seqkit.training import kernel_choice


def setting(device: str, hidden: int = 128, **model: object) -> tuple[CharRNN, Lanes]:
    config = ModelConfig(
        **{"num_layers": 2, "hidden_size": hidden, "vocabulary_size": 65, **model}  # type: ignore[arg-type]
    )
    part = Part(np.zeros(25 * 20 * 8, np.uint8), np.zeros(1, np.int64))
    return CharRNN(config).to(device), Lanes(part, 0, 25, 20)


def test_a_cpu_runs_as_it_is_told(tmp_path: Path) -> None:
    model, lanes = setting("cpu")
    assert kernel_choice.candidates(model, lanes, ["bf16"]) == [Execution("layerwise", "bf16", 25)]
    assert kernel_choice.choose_execution(model, lanes, ["bf16"], tmp_path).execution == Execution(
        "layerwise", "bf16", 25
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.gpu
@pytest.mark.parametrize(("hidden", "nearest"), [(500, 504), (3, 8), (510, 512)])
def test_a_width_that_misses_the_fast_kernels_is_named(hidden: int, nearest: int) -> None:
    missed = kernel_choice.missed(setting("cuda", hidden)[0])
    assert missed is not None
    assert missed.endswith(f"nearest is {nearest}")
    assert kernel_choice.missed(setting("cuda", 512)[0]) is None


@pytest.mark.gpu
def test_the_search_takes_the_fastest_and_remembers_it(tmp_path: Path) -> None:
    model, lanes = setting("cuda")
    choice = kernel_choice.choose_execution(model, lanes, ["fp16", "bf16"], tmp_path)
    assert len(choice.milliseconds) == 4
    assert choice.milliseconds[choice.execution] == min(choice.milliseconds.values())
    assert choice.execution.lanes == 32
    known = json.loads((tmp_path / "plans.json").read_text())
    key = next(iter(known))
    known[key] = dict.fromkeys(known[key], 1.0) | {"bf16, one call a layer, 32 lanes": 0.5}
    (tmp_path / "plans.json").write_text(json.dumps(known))
    again = kernel_choice.choose_execution(model, lanes, ["fp16", "bf16"], tmp_path)
    assert again.execution == Execution("layerwise", "bf16", 32)


@pytest.mark.gpu
def test_dropout_and_documents_rule_out_one_call_for_all_layers(tmp_path: Path) -> None:
    model, lanes = setting("cuda", dropout=0.1)
    choice = kernel_choice.choose_execution(model, lanes, ["fp16"], tmp_path)
    assert list(choice.milliseconds) == [Execution("layerwise", "fp16", 32)]


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
    run = kernel_choice._builder(model, lanes, execution)()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, acc_events=True) as profile:
        run()
        torch.cuda.synchronize()
    names = [event.key for event in profile.key_averages()]
    assert names
    assert any("persist" in name.lower() for name in names) == persistent, names
