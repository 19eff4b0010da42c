"""A run's folder: locked, cut back on resume, and never without a whole checkpoint."""

import json
from pathlib import Path

import pytest
import torch

from seqkit.checkpoint import Checkpoint
from seqkit.codecs import Characters
from seqkit.config import ModelConfig
from seqkit.errors import CheckpointError, OutputError
from seqkit.model import CharRNN
from seqkit.run_folder import RunFolder


def checkpoint(step: int) -> Checkpoint:
    codec = Characters.from_text("ab")
    config = ModelConfig(num_layers=1, hidden_size=3, vocabulary_size=2)
    weights = dict(CharRNN(config, torch.Generator().manual_seed(step)).state_dict())
    return Checkpoint(config, codec, weights, {}, {}, {"step": step}, {}, training={"step": step})


def test_two_trainings_never_share_a_folder(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    refused = pytest.raises(OutputError, match="another training")
    with folder.open(), refused, RunFolder(tmp_path / "run").open():
        pass
    with folder.open():
        pass


def test_the_newest_whole_checkpoint_is_found(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    assert folder.load_last() is None
    with folder.open():
        folder.save(checkpoint(1))
        folder.save(checkpoint(2))
    last, previous = (folder.checkpoints / f"{name}.safetensors" for name in ("last", "previous"))
    found = folder.load_last()
    assert found is not None
    assert found.metrics["step"] == 2
    last.write_bytes(last.read_bytes()[:-1])
    found = folder.load_last()
    assert found is not None
    assert found.metrics["step"] == 1
    previous.unlink()
    with pytest.raises(CheckpointError):
        folder.load_last()
    last.rename(previous)  # killed between the two renames of a save
    folder.save(checkpoint(3))
    assert last.exists()


def test_the_best_holds_no_training_state(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.open():
        folder.save_best(checkpoint(4))
    assert folder.load_last() is None


def test_metrics_are_cut_back_to_the_step(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "run")
    with folder.open():
        for step in (10, 20, 30):
            folder.record("train", {"step": step})
        with (folder.path / "metrics.jsonl").open("a") as stream:
            stream.write('{"event": "train", "st')
        folder.reopen(20)
        lines = (folder.path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [10, 20]


def test_a_new_run_takes_a_folder_that_is_free(tmp_path: Path) -> None:
    first = RunFolder.timed(tmp_path, "recipe")
    with first.open():
        second = RunFolder.timed(tmp_path, "recipe")
    assert first.path != second.path
    assert first.path.parent == tmp_path / "recipe"


def test_places_where_no_folder_can_be_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file" / "run"):
        with pytest.raises(OutputError, match="is a file"):
            RunFolder(path).check_free()
    with pytest.raises(OutputError), RunFolder(Path("/proc/nowhere/run")).open():
        pass
