"""A run's folder: locked, cut back on resume, and never without a whole checkpoint."""

import errno
import fcntl
import os
from pathlib import Path

import pytest
import torch

from seqkit.config import ModelConfig
from seqkit.data.codecs import Characters
from seqkit.foundation import disk
from seqkit.foundation.errors import OutputError
from seqkit.model.char_rnn import CharRNN
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.folder import RunFolder, is_locked, take_lock

pytestmark = pytest.mark.faults


def checkpoint(step: int) -> Checkpoint:
    codec = Characters.fit(["ab"])
    config = ModelConfig(num_layers=1, hidden_size=3, vocabulary_size=2)
    weights = dict(CharRNN(config, torch.Generator().manual_seed(step)).state_dict())
    return Checkpoint(config, codec, weights, {}, {}, {"step": step}, {}, training={"step": step})


def test_two_trainings_never_share_a_folder(tmp_path: Path) -> None:
    folder, again = RunFolder(tmp_path / "run"), RunFolder(tmp_path / "run")
    with folder.claimed(), again.claimed():  # both find nothing there
        folder.make()
        with pytest.raises(OutputError, match="another training writes"):
            again.make()
        folder.save(checkpoint(1))
        third = RunFolder(tmp_path / "run")
        with pytest.raises(OutputError, match="another training writes"), third.claimed():
            pass
    with folder.claimed():
        folder.make()


def test_only_what_a_run_left_is_cleared(tmp_path: Path) -> None:
    (tmp_path / "samples").mkdir()
    mine = ("samples/mine.wav", "samples/step_best.txt", "samples/final.txt")
    for name in (*mine, "samples/step_0000010.txt", "samples/final.wav", "log"):
        (tmp_path / name).write_text("mine")
    folder = RunFolder(tmp_path)
    folder.clear()
    assert (tmp_path / "log").exists()
    with folder.claimed():
        folder.make()
        disk.write(folder.config, b"prompt: mine")
        folder.save(checkpoint(1))
    folder.clear()
    assert {*(tmp_path / "samples").iterdir()} == {tmp_path / name for name in mine}
    assert not folder.holds_run


def test_without_locks_a_folder_has_no_owner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    handles = [take_lock(tmp_path / ".lock") for _ in range(2)]
    assert not is_locked(tmp_path / ".lock")
    for handle in handles:
        os.close(handle)
