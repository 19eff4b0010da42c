"""A training goes on while its checkpoints are written, and loses none of them."""

import dataclasses
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from seqkit.foundation.catalogue import Catalogue
from seqkit.runs.checkpoint import Checkpoint, load
from seqkit.runs.folder import RunFolder
from seqkit.runs.saver import Saver
from tests.runs.test_checkpoint import example


class SlowFolder(RunFolder):
    """A folder on a disk that does nothing until its gate is opened."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gate = threading.Event()
        self.saved: list[str] = []

    def save(self, saved: Checkpoint) -> None:
        self.gate.wait()
        super().save(saved)
        self.saved.append("last")

    def save_best(self, saved: Checkpoint) -> None:
        self.gate.wait()
        super().save_best(saved)
        self.saved.append("best")

    def step(self, name: str) -> int:
        return int(load(self.checkpoint(name), Catalogue()).metrics["step"])


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[SlowFolder]:
    made = SlowFolder(tmp_path / "run")
    with made.claimed():
        made.make()
        yield made


def at(step: int) -> Checkpoint:
    return dataclasses.replace(example(), metrics={"step": step})


def test_what_is_saved_is_as_it_was_when_it_was_given(folder: SlowFolder) -> None:
    checkpoint = at(1)
    with Saver(folder) as saver:
        saver.save(checkpoint)
        saver.save_best(checkpoint)
        for own in (*checkpoint.weights.values(), *checkpoint.training_tensors.values()):
            own.zero_()
        assert not folder.holds_run
        folder.gate.set()
    last = load(folder.checkpoint("last"), Catalogue())
    best = load(folder.checkpoint("best"), Catalogue())
    for name, own in example().weights.items():
        assert np.array_equal(last.weights[name], own)
        assert np.array_equal(best.weights[name], own)
    assert np.array_equal(last.training_tensors["state.h"], torch.ones(2, 3, 6))
    assert best.training is None
    assert folder.saved == ["last", "best"]


@pytest.mark.gpu
def test_a_gpu_goes_on_after_the_copy_and_not_before_it(folder: SlowFolder) -> None:
    checkpoint = at(1)
    checkpoint.weights = {name: own.cuda() for name, own in checkpoint.weights.items()}
    busy = torch.randn(4096, 4096).cuda()
    with Saver(folder) as saver:
        for step in (1, 2):
            folder.gate.clear()
            for _ in range(20):
                busy = busy @ busy / 4096
            saver.save(dataclasses.replace(checkpoint, metrics={"step": step}))
            for own in checkpoint.weights.values():
                own.add_(1)
            folder.gate.set()
            saver.wait()
            saved = load(folder.checkpoint("last"), Catalogue())
            for name, own in example().weights.items():
                assert np.array_equal(saved.weights[name], own + (step - 1)), name
