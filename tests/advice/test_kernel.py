"""The doctor names the kernel that would train the layers, and why."""

import pytest
import torch

from seqkit.advice.kernel import kernel_of
from seqkit.config import Config
from seqkit.model.persistent_lstm import launch
from seqkit.model.persistent_lstm.launch import Card

GPU = torch.device("cuda", 59)


def test_a_cpu_has_none() -> None:
    assert kernel_of(Config(), torch.device("cpu")) is None


@pytest.mark.parametrize(
    ("hidden", "clusters", "grid", "words"),
    [
        (512, None, None, "in clusters"),
        (512, "needs Hopper", None, "on 64 of 108 multiprocessors, or cuDNN"),
        (
            512,
            "needs Hopper",
            "has too little memory",
            "cuDNN, since seqkit's persistent kernel has",
        ),
        (1024, None, None, "on 96 of 108 multiprocessors"),
        (500, None, None, "cuDNN, since seqkit's kernels take"),
    ],
)
def test_it_says_which_and_why(
    monkeypatch: pytest.MonkeyPatch,
    hidden: int,
    clusters: str | None,
    grid: str | None,
    words: str,
) -> None:
    monkeypatch.setattr(launch, "refusal", lambda *given: clusters)
    monkeypatch.setattr(launch, "grid_refusal", lambda *given: grid)
    a100 = Card("A100", (8, 0), 108, 163 * 1024, "sm_80")
    monkeypatch.setattr(launch, "card", lambda device: a100)
    config = Config()
    config.model.hidden_size, config.train.batch_size = hidden, 32
    assert words in str(kernel_of(config, GPU))
