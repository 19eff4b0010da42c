"""Everything is timed in turn, and the fastest that runs is found."""

import itertools
import time
from collections.abc import Callable

import pytest
import torch

from seqkit.kernels.timing import fastest, interleave


def test_rows_take_turns_and_every_call_is_timed() -> None:
    order: list[str] = []

    def sleeper(name: str, seconds: float) -> None:
        order.append(name)
        time.sleep(seconds)

    told: list[tuple[int, str]] = []
    timings = interleave(
        {"short": lambda: lambda: sleeper("a", 0.001), "long": lambda: lambda: sleeper("b", 0.004)},
        torch.device("cpu"),
        watch=lambda done, text: told.append((done, text)),
        rounds=3,
    )
    assert len(timings["short"].milliseconds) == len(timings["long"].milliseconds) == 60
    assert 1 <= timings["short"].quantile(0.5) < timings["long"].quantile(0.5)
    assert timings["short"].quantile(0.1) <= timings["short"].quantile(0.9)
    assert timings["short"].peak_bytes is None
    assert [done for done, _ in told] == list(range(2 * (3 + 1)))
    turns = [name for name, _ in itertools.groupby(order)]
    assert turns == list("abababab")


@pytest.mark.gpu
def test_memory_on_a_gpu_is_what_a_row_needs() -> None:
    def build(size: int):  # type: ignore[no-untyped-def]
        values = torch.zeros(size, device="cuda", dtype=torch.uint8)
        return lambda: values + 1

    timings = interleave(
        {"small": lambda: build(1 << 20), "large": lambda: build(1 << 24)},
        torch.device("cuda"),
        rounds=1,
    )
    assert timings["small"].peak_bytes == 2 << 20
    assert timings["large"].peak_bytes == 2 << 24


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
