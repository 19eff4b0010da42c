"""The search finds a plan that runs what it says, and remembers it."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.model.char_rnn import CharRNN
from seqkit.training import kernel_choice
from seqkit.training.step import Plan


def setting(device: str, hidden: int = 128, **model: object) -> tuple[CharRNN, Lanes]:
    config = ModelConfig(
        **{"num_layers": 2, "hidden_size": hidden, "vocabulary_size": 65, **model}  # type: ignore[arg-type]
    )
    part = Part(np.zeros(25 * 20 * 8, np.uint8), np.zeros(1, np.int64))
    return CharRNN(config).to(device), Lanes(part, 0, 25, 20)


def test_a_cpu_runs_as_it_is_told(tmp_path: Path) -> None:
    model, lanes = setting("cpu")
    assert kernel_choice.candidates(model, lanes, ["bf16"]) == [Plan("bf16", False, 25)]
    assert kernel_choice.choose(model, lanes, ["bf16"], tmp_path).plan == Plan("bf16", False, 25)
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
    choice = kernel_choice.choose(model, lanes, ["fp16", "bf16"], tmp_path)
    assert len(choice.milliseconds) == 4
    assert choice.milliseconds[str(choice.plan)] == min(choice.milliseconds.values())
    assert choice.plan.lanes == 32
    known = json.loads((tmp_path / "plans.json").read_text())
    key = next(iter(known))
    known[key] = dict.fromkeys(known[key], 1.0) | {"bf16, one call a layer, 32 lanes": 0.5}
    (tmp_path / "plans.json").write_text(json.dumps(known))
    again = kernel_choice.choose(model, lanes, ["fp16", "bf16"], tmp_path)
    assert again.plan == Plan("bf16", False, 32)


@pytest.mark.gpu
def test_dropout_and_documents_rule_out_one_call_for_all_layers(tmp_path: Path) -> None:
    model, lanes = setting("cuda", dropout=0.1)
    choice = kernel_choice.choose(model, lanes, ["fp16"], tmp_path)
    assert list(choice.milliseconds) == ["fp16, one call a layer, 32 lanes"]


@pytest.mark.gpu
@pytest.mark.parametrize(
    ("plan", "persistent"),
    [
        (Plan("fp16", False, 32), True),
        (Plan("fp16", True, 32), False),
        (Plan("bf16", False, 32), False),
    ],
)
def test_a_plan_launches_the_kernels_that_it_names(plan: Plan, persistent: bool) -> None:
    model, lanes = setting("cuda", 512)
    run = kernel_choice._builder(model, lanes, plan)()
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities, acc_events=True) as profile:
        run()
        torch.cuda.synchronize()
    names = [event.key for event in profile.key_averages()]
    assert names
    assert any("persist" in name.lower() for name in names) == persistent, names
