"""How many threads PyTorch computes with on a CPU.

OpenMP's threads share out every operation and wait for each other at its end by spinning. Where
another program takes the core of one of them, all others wait for a thread that does not run: with
four of 16 cores busy, a training step in 16 threads takes 280 times as long as in 8.
"""

import os
import time
from pathlib import Path
from types import TracebackType
from typing import ClassVar, NamedTuple, Self

import torch

from seqkit.foundation.cgroups import cores_granted

_EVERY = 0.25  # seconds between looks at the machine
_LOOK = 0.1  # seconds that the one look at it takes by which a number is chosen that stays
_CROWDED = 0.3  # threads that wait for a core, on average: one is too many
_FREE = 0.8  # of a core that idles: one more thread is worth it
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

    As long as they have some, it takes fewer threads, never more than PyTorch had before, which has
    them again after the last of the loops that run at the same time.

    It does nothing on a GPU, where the number of threads has to stay (the last digits of sums
    depend on it), where the environment says how OpenMP is to run, or where the system does not
    tell how its cores are used: only Linux does.
    """

    _users: ClassVar[int] = 0  # loops that are under way
    _most: ClassVar[int] = 1  # threads that they may take

    def __init__(self, device: torch.device, fixed: bool = False) -> None:
        """`device` is where the loop computes; `fixed`: the number of threads has to stay."""
        fixed = fixed or torch.are_deterministic_algorithms_enabled() or are_told()
        self._on = device.type == "cpu" and not fixed
        self._last: _Usage | None = None

    def __enter__(self) -> Self:
        self._last = _Usage.now() if self._on else None
        self._on = self._last is not None
        if self._on:
            if not SharedCores._users:
                SharedCores._most = torch.get_num_threads()
            SharedCores._users += 1
            torch.set_num_threads(min(torch.get_num_threads(), own_cores()))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._on:
            SharedCores._users -= 1
            if not SharedCores._users:
                torch.set_num_threads(SharedCores._most)

    def adapt(self) -> None:
        """Take as many threads as the last quarter of a second asks for.

        Call it between two steps of the loop, in the thread that computes.
        """
        if self._last is None or time.monotonic() - self._last.clock < _EVERY:
            return
        before, self._last = self._last, _Usage.now()
        if self._last is not None:
            shares = self._last.since(before)
            threads = fitting_threads(torch.get_num_threads(), *shares)
            torch.set_num_threads(min(threads, SharedCores._most, own_cores()))


def are_told() -> bool:
    """Whether the environment says how OpenMP is to run."""
    return any(name in os.environ for name in _SET_BY_USER)


def own_cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # only Linux has it
    return min(len(affinity(0)) if affinity else os.cpu_count() or 1, cores_granted())


def lasting_threads() -> int:
    """How many threads suit work that keeps their number: one for each own core that idles.

    Where the environment says how OpenMP is to run, or the system does not tell, it is PyTorch's
    own number.
    """
    most = torch.get_num_threads()
    before = None if are_told() else _Usage.now()
    if before is None:
        return most
    time.sleep(_LOOK)
    now = _Usage.now()
    idle = now.since(before)[2] if now else most
    return max(1, min(round(idle), most, own_cores()))


def fitting_threads(threads: int, computed: float, waited: float, idle: float) -> int:
    """How many threads suit a machine on which `threads` ran until now.

    Args:
        threads: so many, at least 1.
        computed, waited: how many of them ran, and how many had to wait for a core, on average.
        idle: how many cores had nothing to do, on average. They may be in use again in a moment,
            so that the threads are doubled at most.
    """
    if waited > _CROWDED:
        # While one waits, another program has its core: so many cores are not ours.
        return max(1, min(threads - 1, int(computed - waited)))
    return threads + min(round(idle), threads) if idle > _FREE else threads


class _Usage(NamedTuple):
    """Seconds since some moment.

    clock: that have passed.
    computed: of all threads of this process, on a core.
    waited: of all its threads, ready to run but without a core.
    idle: of all cores on which it may run, without anything to do.
    """

    clock: float
    computed: float
    waited: float
    idle: float

    @classmethod
    def now(cls) -> "_Usage | None":
        """As it is now; None where the system does not tell."""
        try:
            waited = sum(_waited(task) for task in Path("/proc/self/task").iterdir())
            own = {f"cpu{core}" for core in os.sched_getaffinity(0)}
            rows = (line.split() for line in Path("/proc/stat").read_text().splitlines())
            idle = sum(int(row[4]) + int(row[5]) for row in rows if row[0] in own)
        except (AttributeError, OSError, ValueError, IndexError):
            return None
        ticks = os.sysconf("SC_CLK_TCK")
        return cls(time.monotonic(), time.process_time(), waited / 1e9, idle / ticks)

    def since(self, before: "_Usage") -> tuple[float, float, float]:
        """How many threads computed and waited, and how many cores idled, on average."""
        seconds = self.clock - before.clock
        return (
            (self.computed - before.computed) / seconds,
            (self.waited - before.waited) / seconds,
            (self.idle - before.idle) / seconds,
        )


def _waited(task: Path) -> int:
    """Nanoseconds that a thread was ready and had no core; 0 if it has just ended."""
    try:
        return int((task / "schedstat").read_text().split()[1])
    except ProcessLookupError:
        return 0
    except FileNotFoundError:
        if task.exists():
            raise
        return 0
