"""A GPU that another program fills, and signals to trainings there.

They fill the GPU's memory, so no other test may run beside them: `python -m pytest -n 0 -m "faults
and gpu"`.
"""

import os
import signal
from pathlib import Path

import pytest
import torch

from tests.conftest import SMALL, process, spawn, wait_for_steps
from tests.warm_python import python

pytestmark = [
    pytest.mark.faults,
    pytest.mark.gpu,
    pytest.mark.skipif("PYTEST_XDIST_WORKER" in os.environ, reason="fills the GPU: takes -n 0"),
]
ON_GPU = [key for key in SMALL if key not in ("device=cpu", "model.hidden_size=24")]


def all_but(megabytes: int) -> torch.Tensor:
    """All of the GPU's memory that is free but for so much."""
    free, _ = torch.cuda.mem_get_info()
    return torch.empty(max(0, free - (megabytes << 20)), dtype=torch.uint8, device="cuda")


def test_a_gpu_that_is_full_is_told(text_file: Path, tmp_path: Path) -> None:
    filling = all_but(600)
    words = ["recipe=shakespeare", *ON_GPU, "device=cuda", f"data.path={text_file}"]
    for size in ("model.hidden_size=2048", "model.hidden_size=24 train.batch_size=100000"):
        done = process(*words[:1], *size.split(), *words[1:], "run_dir=run", cwd=tmp_path)
        assert done.returncode == 5, done.stderr
        assert "Traceback" not in done.stderr
        assert "memory" in done.stderr
    del filling
    torch.cuda.empty_cache()


def test_a_training_on_a_gpu_saves_for_every_signal(text_file: Path, tmp_path: Path) -> None:
    words = ["recipe=shakespeare", *ON_GPU, "model.hidden_size=64", "device=cuda"]
    words += [f"data.path={text_file}", "train.max_steps=1000000", "resume=auto"]
    for sent in (signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP, signal.SIGKILL):
        run = tmp_path / sent.name
        with spawn([python(), "-m", "seqkit", *words, f"run_dir={run}"]) as training:
            wait_for_steps(run, 100)
            training.send_signal(sent)
            _, said = training.communicate()
        assert training.returncode == (-9 if sent is signal.SIGKILL else 75), said


def test_a_generation_that_does_not_fit_a_gpu_is_told(trained: Path, tmp_path: Path) -> None:
    filling = all_but(900)
    for engine in ("torch", "cuda_graph"):
        given = [f"checkpoint={trained}", "device=cuda", "length=20", "streams=10000"]
        done = process("generate", *given, f"sample.engine={engine}", cwd=tmp_path)
        assert done.returncode in (0, 5), done.stderr
        assert "Traceback" not in done.stderr
        assert done.returncode == 0 or "memory" in done.stderr
    del filling
    torch.cuda.empty_cache()
