"""Checkpoints are whole or refused, and nothing in them is ever executed."""

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
import safetensors
import safetensors.numpy
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import Characters
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import CheckpointError, UnreadableError
from seqkit.model.char_rnn import CharRNN
from seqkit.runs import checkpoint
from seqkit.runs.checkpoint import Checkpoint

pytestmark = pytest.mark.faults


def example() -> Checkpoint:
    codec = Characters.from_text("abc\n")
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


def test_eight_bits_are_read_as_nearly_the_weights_that_they_were(saved: Path) -> None:
    small = saved.with_name("small.safetensors")
    dataclasses.replace(example(), eight_bits=True).save(small)
    with safetensors.safe_open(small, "pt") as content:
        kinds = {name: content.get_tensor(name).dtype for name in content.keys()}  # noqa: SIM118
    stored = kinds["model.layers.0.weight_hh_l0"], kinds["model.layers.0.bias_hh_l0"]
    assert stored == (torch.int8, torch.float32)
    loaded, whole = checkpoint.load(small, Catalogue()), checkpoint.load(saved, Catalogue())
    assert loaded.digest != whole.digest
    assert loaded.weights.keys() == whole.weights.keys()
    for name, value in whole.weights.items():
        assert loaded.weights[name].dtype == np.float32
        step = np.abs(value).max(-1, keepdims=True) / 127
        limit = step / 2 if value.ndim == 2 else 0 * step
        assert (np.abs(loaded.weights[name] - value) <= limit * 1.001).all(), name
    loaded.build(torch.device("cpu"))
    loaded.save(saved)
    again = checkpoint.load(saved, Catalogue())
    assert (saved.stat().st_size, again.eight_bits) == (small.stat().st_size, True)


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


@dataclasses.dataclass
class Older(ModelConfig):
    """The network's keys before 0.3.0."""

    cell_clip: float = 0.0
    conditions: int = 0
    condition_size: int = 32
    lookback: int = 0


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("cell_clip", 0.05, "nothing bounds"),
        ("conditions", 9, "nothing but labels is read"),
        ("lookback", 160, "learns sound in minutes without it"),
    ],
)
def test_a_network_with_what_is_gone_is_refused(
    key: str, value: float, said: str, tmp_path: Path
) -> None:
    path, original = tmp_path / "a.safetensors", example()
    own = dataclasses.asdict(original.model)
    original.model = Older(**own)
    original.save(path)
    assert checkpoint.load(path, Catalogue()).model == example().model
    original.model = Older(**own, **{key: value})  # type: ignore[arg-type]
    original.save(path)
    with pytest.raises(UnreadableError, match=rf"model\.{key}: that is gone: .*{said}"):
        checkpoint.load(path, Catalogue())


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    wrong = example()
    wrong.weights["head.bias"] = torch.zeros(99)
    wrong.save(tmp_path / "a.safetensors")
    with pytest.raises(CheckpointError, match="do not fit"):
        checkpoint.load(tmp_path / "a.safetensors", Catalogue()).build(torch.device("cpu"))


def test_a_network_that_the_weights_do_not_make_up_is_refused_before_it_is_made(
    tmp_path: Path,
) -> None:
    original = example()
    original.model = dataclasses.replace(original.model, hidden_size=300_000, num_layers=1000)
    original.save(tmp_path / "a.safetensors")
    with pytest.raises(CheckpointError, match=r"do not fit a network of \d+"):
        checkpoint.load(tmp_path / "a.safetensors", Catalogue())


def test_a_codec_that_nothing_has_is_named_with_the_plug_in(tmp_path: Path) -> None:
    class Foreign(Characters):
        name = "foreign"

    config = {"plugins": ["os", "my_codecs"]}
    foreign = dataclasses.replace(example(), codec=Foreign("\nabc", 0), config=config)
    foreign.save(tmp_path / "a.safetensors")
    said = r"a\.safetensors: its codec foreign was not found.*plugins=os,my_codecs"
    with pytest.raises(CheckpointError, match=said):
        checkpoint.load(tmp_path / "a.safetensors", Catalogue())
