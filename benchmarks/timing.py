"""Timing things side by side, a few calls of each in turn, so that none gets the better moment."""

from collections.abc import Callable, Mapping

import torch

from seqkit.lstm import milliseconds

Build = Callable[[], Callable[[], object]]
"""Sets up a row and returns the call to time."""

_SECONDS = 4.0  # at most in one turn
_WARM = 5  # calls before timing, in which libraries choose kernels and allocate memory


def interleave(
    rows: Mapping[str, Build], device: torch.device, rounds: int = 5, calls: int = 20
) -> dict[str, list[float]]:
    """The milliseconds of all calls of each row; the rows take turns.

    Args:
        rows: what to time, by name.
        device: where it runs.
        rounds: how many timed turns each row has.
        calls: of a row in one turn; fewer if they take long.
    """
    timings: dict[str, list[float]] = {}
    built: dict[str, Callable[[], object]] = {}
    counts: dict[str, int] = {}
    for name, build in rows.items():
        built[name] = build()
        milliseconds(built[name], _WARM, device)
        slowest = max(milliseconds(built[name], 2, device)) / 1000
        counts[name] = max(1, min(calls, int(_SECONDS / slowest)))
        timings[name] = []
    for _ in range(rounds):
        for name, call in built.items():
            milliseconds(call, 1, device)  # the row before has left its data in the caches
            timings[name] += milliseconds(call, counts[name], device)
    return timings
