"""Faults on purpose: a few in every run of the tests, all of them with `pytest -m faults`."""

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.cli import main
from tests.conftest import SMALL, shared

Amount = Callable[[int, int], range]


@pytest.fixture
def amount(pytestconfig: pytest.Config) -> Amount:
    """The numbers of the faults to try: so many of so many, and all with `-m faults`."""

    def call(few: int, every: int) -> range:
        return range(every if "faults" in pytestconfig.option.markexpr else few)

    return call


@pytest.fixture
def chance(request: pytest.FixtureRequest) -> random.Random:
    """Random numbers, the same at every call of the test."""
    return random.Random(request.node.name)


@pytest.fixture(scope="session")
def voice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished tiny run on sound of 4000 Hz; for reading alone."""

    def train(folder: Path) -> None:
        soundfile.write(folder / "a.wav", 0.4 * np.sin(np.arange(4000) * 0.3), 4000)
        sizes = [key for key in SMALL if not key.startswith("length=")]
        words = [*sizes, "data.sample_rate=4000", f"data.path={folder / 'a.wav'}", "seconds=0.01"]
        words += ["train.max_steps=2", f"run_dir={folder / 'run'}"]
        assert main(["recipe=wav_generation", *words]) == 0

    return shared(tmp_path_factory, "voice", train) / "run"
