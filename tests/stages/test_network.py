"""An execution runs what it says, and is kept where it can be."""

from dataclasses import asdict, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from seqkit.compose import compose
from seqkit.compose.recipes import recipe_files
from seqkit.config import ModelConfig, TrainConfig
from seqkit.data.corpus import Part
from seqkit.data.lanes import Lanes
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.ranks import Session
from seqkit.lstm import Execution
from seqkit.model.char_rnn import CharRNN
from seqkit.stages.network import choose_execution, execution, footprint, task_of, with_vocabulary


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
    found = choose_execution(task_of(model, lanes), ["bf16", "fp32"])
    assert found == Execution(kernel, "bf16", 25)


def test_a_resumed_run_keeps_its_execution_though_the_rule_has_another() -> None:
    model, lanes = setting("cpu")

    def found(before: Execution) -> Execution:
        saved: Any = SimpleNamespace(training={"execution": asdict(before), "processes": 1})
        train = TrainConfig(precision="fp32")
        return execution(train, model, lanes, Session(Catalogue(), print), saved)

    before = Execution("stacked", "fp32", 25)
    assert found(before) == before
    assert found(Execution("stacked", "fp16", 32)) == Execution("layerwise", "fp32", 25)


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
    found = choose_execution(task_of(model, lanes), ["fp16", "bf16"], timed=timed)
    assert (found.kernel, found.lanes) == (kernel, -(-lanes.batch_size // 8) * 8)
    assert timed or found.precision == "fp16"


@pytest.mark.parametrize("name", recipe_files([]))
def test_a_shipped_recipe_is_not_refused_where_it_runs(name: str) -> None:
    config = compose([f"recipe={name}"], [])
    model = replace(config.model, vocabulary_size=config.model.vocabulary_size or 256)
    train = config.train
    places = train.batch_size * train.sequence_length
    memory = footprint(model, places, "fp32", averaged=train.average > 0)
    small = name in ("shakespeare", "toy_sentence", "wav_generation")
    assert memory < (10**9 if small else 8 * 10**9)


NUMBERS = torch.tensor([0, 2, 3, 6, 7])  # of 5 known symbols among 8
SIZE = 8


def small(logits: int = 5, **settings: object) -> CharRNN:
    config = ModelConfig(num_layers=2, hidden_size=4, vocabulary_size=logits, **settings)  # type: ignore[arg-type]
    return CharRNN(config, torch.Generator().manual_seed(3))


@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("coding", ["one_hot", "embedding"])
@pytest.mark.parametrize("logits", [5, 7, 8, 11])
def test_known_symbols_keep_their_logits(cell: str, coding: str, logits: int) -> None:
    before = small(logits, cell=cell, input=coding, embedding_size=3)
    after = with_vocabulary(before, NUMBERS, SIZE, torch.Generator().manual_seed(1))
    assert after.config.vocabulary_size == max(logits, SIZE)
    symbols = torch.randint(0, 5, (6, 2), generator=torch.Generator().manual_seed(0))
    expected, _ = before(symbols, before.zero_state(2))
    found, _ = after(NUMBERS[symbols], after.zero_state(2))
    torch.testing.assert_close(found[..., NUMBERS], expected[..., :5])
    torch.testing.assert_close(found[..., SIZE:], expected[..., SIZE:])
