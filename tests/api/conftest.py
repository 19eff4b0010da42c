"""A tiny run of sound."""

import contextlib
from pathlib import Path

import numpy as np
import pytest
import soundfile

from seqkit.cli import main
from tests.conftest import SMALL, shared

RATE = 2000


@pytest.fixture(scope="session")
def sung(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a finished tiny run of sound at 2000 Hz; for reading alone."""

    def train(folder: Path) -> None:
        tone = 0.5 * np.sin(2 * np.pi * 200 * np.arange(2 * RATE) / RATE)
        soundfile.write(folder / "tone.wav", tone, RATE)
        keys = [key for key in SMALL if not key.startswith("length=")]
        words = ["data.path=tone.wav", "run_dir=run", "seconds=0.1", "train.max_steps=5"]
        keys.append(f"data.sample_rate={RATE}")
        with contextlib.chdir(folder):
            assert main(["recipe=wav_generation", *keys, *words]) == 0

    return shared(tmp_path_factory, "sung", train) / "run"
