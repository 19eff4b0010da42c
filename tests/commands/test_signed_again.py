"""Checkpoints that somebody changed and signed again: refused in a line that says why."""

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from seqkit.runs.checkpoint import Checkpoint
from tests.conftest import Run, saved

pytestmark = pytest.mark.faults


Changed = Callable[[Callable[[Checkpoint], object]], Path]


@pytest.fixture
def changed(trained: Path, tmp_path: Path) -> Changed:
    """A run whose last checkpoint a function has changed."""

    def call(change: Callable[[Checkpoint], object]) -> Path:
        folder = tmp_path / "a"
        shutil.copytree(trained, folder)
        last = saved(folder)
        change(last)
        last.save(folder / "checkpoints" / "last.safetensors")
        return folder

    return call


def test_moments_of_another_shape_end_in_a_line(changed: Changed, run: Run) -> None:
    small = {f"optimizer.1.{name}": torch.zeros(1) for name in ("exp_avg", "exp_avg_sq")}
    folder = changed(lambda last: last.training_tensors.update(small))
    refused = run.fails_in_a_line(4, f"run_dir={folder}", "resume=auto", "train.max_steps=152")
    assert "optimizer.1.exp_avg is missing, or of another shape" in refused


def test_a_number_that_is_none_ends_in_a_line(changed: Changed, run: Run) -> None:
    def change(last: Checkpoint) -> None:
        assert last.training is not None
        last.training["time"]["seconds"] = float("-inf")
        last.training["execution"]["lanes"] = float("inf")

    refused = run.fails(4, f"run_dir={changed(change)}", "resume=auto", "train.max_steps=152")
    assert refused.endswith("time.seconds=-inf is no number of a training\n")


@pytest.mark.parametrize("value", [float("nan"), 3e38])
def test_weights_that_give_no_numbers_are_said_to(
    value: float, changed: Changed, run: Run, tmp_path: Path
) -> None:
    def change(last: Checkpoint) -> None:
        last.weights = {name: np.full_like(own, value) for name, own in last.weights.items()}

    file, page = changed(change) / "checkpoints" / "last.safetensors", tmp_path / "x.html"
    for words in (["score", f"out={tmp_path / 'x'}"], ["score"], ["evaluate", "json=true"]):
        refused = run.fails(4, *words, f"checkpoint={file}", "device=cpu")
        assert "the checkpoint's weights give no numbers: they are not finite" in refused
    assert not page.exists()
    if value != value:  # of overflowing weights samples can be drawn
        for words in (["generate", "length=3"], ["export", f"out={page}"]):
            refused = run.fails(4, *words, f"checkpoint={file}")
            assert "the checkpoint's weights give no numbers: they are not finite" in refused
