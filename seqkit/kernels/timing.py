"""How long calls take, on a GPU by its own clock."""

import itertools
import time
from collections.abc import Callable

import torch


def milliseconds(call: Callable[[], object], count: int, device: torch.device) -> list[float]:
    """The milliseconds of each of `count` calls; on a GPU they queue up, as in real use."""
    if device.type != "cuda":
        marks = [time.perf_counter()]
        for _ in range(count):
            call()
            marks.append(time.perf_counter())
        return [1000 * (b - a) for a, b in itertools.pairwise(marks)]
    torch.cuda.synchronize(device)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(count + 1)]  # type: ignore[no-untyped-call]
    events[0].record()
    for event in events[1:]:
        call()
        event.record()
    torch.cuda.synchronize(device)
    return [a.elapsed_time(b) for a, b in itertools.pairwise(events)]
