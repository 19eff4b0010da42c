"""Timing things side by side, a few calls of each in turn, so that none gets the better moment."""

import gc
import itertools
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
import torch

Build = Callable[[], Callable[[], object]]
"""Sets up a row and returns the call to time."""

_SECONDS = 4.0  # at most in one turn
_WARM = 5  # calls before timing, in which libraries choose kernels and allocate memory


@dataclass
class Timing:
    """Milliseconds of every call, and the peak of GPU memory in bytes (None on a CPU)."""

    milliseconds: list[float] = field(default_factory=list)
    peak_bytes: int | None = None

    def quantile(self, share: float) -> float:
        """The milliseconds below which this share of the calls stays; 0.5 gives the median."""
        return float(np.quantile(self.milliseconds, share))


def interleave(
    rows: Mapping[str, Build],
    device: torch.device,
    rounds: int = 5,
    calls: int = 20,
) -> dict[str, Timing]:
    """Time all rows in turn, a few calls of each, `rounds` times over.

    Args:
        rows: what to time, by name.
        device: where it runs.
        rounds: how many timed turns each row has.
        calls: of a row in one turn; fewer if they take long.
    """
    timings: dict[str, Timing] = {}
    built: dict[str, Callable[[], object]] = {}
    counts: dict[str, int] = {}
    for name, build in rows.items():
        before = _allocated(device)
        built[name] = build()
        _time(built[name], _WARM, device)
        slowest = max(_time(built[name], 2, device)) / 1000
        counts[name] = max(1, min(calls, int(_SECONDS / slowest)))
        timings[name] = Timing(peak_bytes=_peak(device, before))
    for _ in range(rounds):
        for name, call in built.items():
            _time(call, 1, device)  # the row before has left its data in the caches
            timings[name].milliseconds += _time(call, counts[name], device)
    return timings


def _time(call: Callable[[], object], count: int, device: torch.device) -> list[float]:
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


def _allocated(device: torch.device) -> int:
    if device.type != "cuda":
        return 0
    torch.cuda.synchronize(device)
    gc.collect()  # what others give back while a row is measured would count as its own
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats(device)
    return torch.cuda.memory_allocated(device)


def _peak(device: torch.device, before: int) -> int | None:
    return torch.cuda.max_memory_allocated(device) - before if device.type == "cuda" else None
