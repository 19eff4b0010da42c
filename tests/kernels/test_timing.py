"""Everything is timed in turn."""

import itertools
import time

import pytest
import torch

from seqkit.kernels.timing import interleave


def test_rows_take_turns_and_every_call_is_timed() -> None:
    order: list[str] = []

    def sleeper(name: str, seconds: float) -> None:
        order.append(name)
        time.sleep(seconds)

    timings = interleave(
        {"short": lambda: lambda: sleeper("a", 0.001), "long": lambda: lambda: sleeper("b", 0.004)},
        torch.device("cpu"),
        rounds=3,
    )
    assert len(timings["short"].milliseconds) == len(timings["long"].milliseconds) == 60
    assert 1 <= timings["short"].quantile(0.5) < timings["long"].quantile(0.5)
    assert timings["short"].quantile(0.1) <= timings["short"].quantile(0.9)
    assert timings["short"].peak_bytes is None
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
