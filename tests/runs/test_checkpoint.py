"""Checkpoints are whole or refused, and nothing in them is ever executed."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import Characters
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import CheckpointError
from seqkit.model.char_rnn import CharRNN
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint

pytestmark = pytest.mark.faults


def example() -> Checkpoint:
    codec = Characters.fit(["abc\n"])
    config = ModelConfig(num_layers=2, hidden_size=6, vocabulary_size=codec.size)
    model = CharRNN(config, torch.Generator().manual_seed(1))
    return Checkpoint(
        model=config,
        codec=codec,
        weights=dict(model.state_dict()),
        config={"seed": 3},
        data={"name": "x", "sha256": "0" * 64},
        metrics={"step": 5},
        versions={"torch": "2"},
        training={"progress": {"step": 5}},
        training_tensors={"state.h": torch.ones(2, 3, 6)},
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "a.safetensors"
    example().save(path)
    return path


def test_everything_comes_back(saved: Path) -> None:
    loaded, original = checkpoint.load(saved, Catalogue()), example()
    assert loaded.model == original.model
    assert loaded.codec.to_spec() == original.codec.to_spec()
    assert (loaded.config, loaded.metrics) == (original.config, original.metrics)
    assert loaded.training == original.training
    assert np.array_equal(loaded.training_tensors["state.h"], np.ones((2, 3, 6)))
    for name, value in loaded.build(torch.device("cpu")).state_dict().items():
        assert torch.equal(value, original.weights[name])


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("model", {"cell": "lstm", "hidden_size": -1}),
        ("model", {"cell": "os.system"}),
        ("model", {"vocabulary_size": 2}),
        ("codec", {"name": "builtins.eval"}),
        ("config", None),
        ("config", {"data": 5}),
        ("config", {"model": None}),
        ("config", {"plugins": 5}),
        ("data", None),
        ("data", {"sha256": 5}),
        ("data", {"bytes": "x"}),
        ("metrics", 5),
        ("metrics", {"step": "x"}),
        ("training", 5),
        ("versions", 5),
        ("format", 999),
    ],
)
def test_a_well_signed_file_of_nonsense_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: str, value: object
) -> None:
    original = json.dumps

    def forge(header: dict[str, object]) -> str:
        return original({**header, field: value})

    monkeypatch.setattr("seqkit.runs.checkpoint.json.dumps", forge)
    path = tmp_path / "a.safetensors"
    example().save(path)
    with pytest.raises(CheckpointError):
        assert checkpoint.load(path, Catalogue()).settings


def test_a_network_that_the_weights_do_not_make_up_is_refused_before_it_is_made(
    tmp_path: Path,
) -> None:
    original = example()
    original.model = dataclasses.replace(original.model, hidden_size=300_000, num_layers=1000)
    original.save(tmp_path / "a.safetensors")
    with pytest.raises(CheckpointError, match=r"do not fit a network of \d+"):
        checkpoint.load(tmp_path / "a.safetensors", Catalogue())
    original.model = dataclasses.replace(original.model, num_layers=2_000_000_000)
    original.save(tmp_path / "b.safetensors")
    with pytest.raises(CheckpointError, match=r"num_layers"):
        checkpoint.load(tmp_path / "b.safetensors", Catalogue())
