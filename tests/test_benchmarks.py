"""What is timed: the loops that seqkit is compared with train, and a shape is printed whole."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import training_rows
from benchmarks.training_rows import Variant
from seqkit.config import Config, ModelConfig, TrainConfig
from tests.conftest import completed
from tests.warm_python import python

ROOT = Path(__file__).parent.parent
CPU = torch.device("cpu")


@pytest.fixture(params=["one_hot", "embedding"])
def config(request: pytest.FixtureRequest) -> Config:
    """Two layers of 24, V 7, T 8, B 3: with the usual settings, and with mycaffe's."""
    model = ModelConfig(num_layers=2, hidden_size=24, vocabulary_size=7)
    if request.param == "embedding":
        model.input, model.embedding_size = "embedding", 5
    return Config(model=model, train=TrainConfig(batch_size=3, sequence_length=8))


def losses(
    config: Config, device: torch.device, variant: Variant | None, count: int
) -> list[float]:
    """Of updates from seeded weights; no variant is the usual loop."""
    torch.manual_seed(3)
    step: Any = training_rows.plain_step(config, device)
    if variant:
        torch.manual_seed(3)
        step = training_rows.best_step(config, device, variant)
    return [float(step()) for _ in range(count)]


def test_the_best_loop_makes_the_updates_of_the_usual_one(config: Config) -> None:
    config.train.clip_norm = 0.1  # so that it counts
    best = losses(config, CPU, Variant("fp32", graph=False), 20)
    assert best == pytest.approx(losses(config, CPU, None, 20), rel=1e-4)


@pytest.mark.gpu
def test_a_graph_makes_the_updates_that_it_recorded(config: Config) -> None:
    """The warm-up before a recording makes updates of its own, which the others make first."""
    device, warm = torch.device("cuda", 0), training_rows.WARM
    recorded = losses(config, device, Variant("fp32", graph=True), 20)
    launched = losses(config, device, Variant("fp32", graph=False), 20 + warm)
    assert recorded == pytest.approx(launched[warm:], rel=0.02)


def printed(*words: str) -> Any:
    """What `benchmarks.steps` prints of a small network."""
    small = ("device=cpu", "model.hidden_size=8", "json=true")
    done = completed([python(), "-m", "benchmarks.steps", *words, *small], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.thorough
def test_a_training_shape_has_its_rows_ratios_and_what_others_published() -> None:
    found = printed("mycaffe", "train.batch_size=2", "train.sequence_length=4")
    rows = {row["name"]: row for row in found["rows"]}
    assert list(rows) == ["seqkit", "bare", "plain", "plain_best"]
    for row in rows.values():
        assert 0 < row["p10_ms"] <= row["median_ms"] <= row["p90_ms"]
        assert row["symbols_per_second"] == pytest.approx(8 / row["median_ms"] * 1000)
    for slow, fast in (name.split("/") for name in found["ratios"]):
        ratio = rows[slow]["median_ms"] / rows[fast]["median_ms"]
        assert found["ratios"][f"{slow}/{fast}"] == pytest.approx(ratio)
    assert {"plain/seqkit", "plain_best/seqkit"} <= set(found["ratios"])
    assert found["shape"] == "mycaffe"
    assert [row["forward_backward_ms"] for row in found["published"]] == [64.0, 12.8]


def test_a_shape_of_generation_times_the_engines_of_the_device() -> None:
    found = printed("generate_audio", "length=4", "streams=2")
    rows = {row["name"]: row for row in found["rows"]}
    assert list(rows) == ["plain", "torch", "wasm"]
    for row in rows.values():
        assert row["symbols_per_second"] == pytest.approx(8 / row["median_ms"] * 1000)
    assert found["ratios"].keys() == {"plain/torch", "plain/wasm"}
    assert found["published"][0]["symbols_per_second"] == 96000


def test_an_unknown_shape_is_refused() -> None:
    done = completed([python(), "-m", "benchmarks.steps", "texts"], cwd=ROOT)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "generate_text" in done.stderr
