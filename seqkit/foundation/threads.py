"""How many threads PyTorch computes with on a CPU.

OpenMP's threads share out every operation and wait for each other at its end by spinning. Where
another program takes the core of one of them, all others wait for a thread that does not run: with
four of 16 cores busy, a training step in 16 threads takes 280 times as long as in 8.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple, Self

import torch

from seqkit.foundation.machine import own_cores

_EVERY = 0.25  # seconds between looks at the machine
_LOOK = 0.1  # seconds that the one look at it takes by which a number is chosen that stays
_TAKEN = 0.4  # of a core: when others take less, a thread still gets on
_SET_BY_USER = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_DYNAMIC", "MKL_DYNAMIC"),
    *("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"),
)
"""Variables by which the user says how many threads OpenMP takes, and how they wait."""


class SharedCores:
    """Keeps PyTorch, while a loop runs, from waiting for cores that other programs have.

        with SharedCores(device) as cores:
            for batch in batches:
                cores.adapt()
                compute(batch)

    As long as they have some, it takes fewer threads, never more than PyTorch had before.

    It does nothing on a GPU, where the number of threads has to stay (the last digits of sums
    depend on it), where the environment says how OpenMP is to run, or where the system does not
    tell how its cores are used: only Linux does.
    """

    def __init__(self, device: torch.device, fixed: bool = False) -> None:
        """`device` is where the loop computes; `fixed`: the number of threads has to stay."""
        fixed = fixed or torch.are_deterministic_algorithms_enabled() or are_told()
        self._last = None if fixed or device.type != "cpu" else _Usage.now()
        self._most = torch.get_num_threads()

    def __enter__(self) -> Self:
        if self._last:
            torch.set_num_threads(min(self._most, own_cores()))
        return self

    def __exit__(self, *_: object) -> None:
        if self._last:
            torch.set_num_threads(self._most)

    def adapt(self) -> None:
        """Take as many threads as there were cores free in the last quarter of a second.

        Call it between two steps of the loop, in the thread that computes.
        """
        if self._last and time.monotonic() - self._last.clock >= _EVERY:
            before, self._last = self._last, _Usage.now()
            if self._last:
                torch.set_num_threads(min(self._last.threads_since(before), self._most))


def are_told() -> bool:
    """Whether the environment says how OpenMP is to run."""
    return any(name in os.environ for name in _SET_BY_USER)


def lasting_threads() -> int:
    """How many threads suit work that keeps their number: one for each own core that idles.

    Where the environment says how OpenMP is to run, or the system does not tell, it is PyTorch's
    own number.
    """
    before = None if are_told() else _Usage.now()
    if before is None:
        return torch.get_num_threads()
    time.sleep(_LOOK)
    now = _Usage.now() or before
    return min(now.threads_since(before), torch.get_num_threads())


class _Usage(NamedTuple):
    """Seconds since some moment.

    clock: that have passed.
    ours: in which cores ran this process, or idled although it may run there.
    """

    clock: float
    ours: float

    @classmethod
    def now(cls) -> "_Usage | None":
        """As it is now; None where the system does not tell."""
        try:
            own = {f"cpu{core}" for core in os.sched_getaffinity(0)}
            rows = (line.split() for line in Path("/proc/stat").read_text().splitlines())
            idle = sum(int(row[4]) + int(row[5]) for row in rows if row[0] in own)
        except (AttributeError, OSError, ValueError, IndexError):
            return None
        return cls(time.monotonic(), time.process_time() + idle / os.sysconf("SC_CLK_TCK"))

    def threads_since(self, before: "_Usage") -> int:
        """One for each core that others left to this process."""
        cores = (self.ours - before.ours) / (self.clock - before.clock)
        return max(1, min(int(cores + _TAKEN), own_cores()))
