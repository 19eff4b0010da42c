"""The fastest of several ways is found; those that cannot run are left out."""

import time
from collections.abc import Callable

import torch

from seqkit.bench.rows import fastest

CPU = torch.device("cpu")


def slow() -> Callable[[], object]:
    return lambda: time.sleep(0.01)


def quick() -> Callable[[], object]:
    return lambda: None


def broken() -> Callable[[], object]:
    raise RuntimeError("no kernel")


def test_the_fastest_that_runs_is_taken() -> None:
    assert fastest({"slow": slow, "quick": quick, "broken": broken}, CPU) == "quick"
    assert fastest({"broken": broken, "slow": slow}, CPU) == "slow"
