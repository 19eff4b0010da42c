"""How many threads PyTorch computes with on a CPU: no more than there are cores free.

OpenMP's threads share out every operation and wait for each other at its end by spinning. Where
another program takes the core of one of them, all others wait for a thread that does not run: with
four of 16 cores busy, a training step in 16 threads takes 280 times as long as in 8.
"""

import os
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

import torch

_EVERY = 0.25  # seconds between looks at the machine
_CROWDED = 0.3  # threads that wait for a core, on average: one is too many
_FREE = 0.8  # of a core that idles: one more thread is worth it
_USER = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_DYNAMIC", "OMP_WAIT_POLICY", "GOMP_SPINCOUNT")


class SharedCores:
    """Keeps PyTorch, while a loop runs, to the cores that other programs leave free.

        with SharedCores(device) as cores:
            for batch in batches:
                cores.adapt()
                compute(batch)

    It never takes more threads than PyTorch had before, which it has again after the block. It does
    nothing on a GPU, where the environment says how OpenMP is to run, or where the system does not
    tell how its cores are used: only Linux does.
    """

    def __init__(self, device: torch.device, *, fixed: bool = False) -> None:
        """`fixed` keeps the number of threads, on which the last digits of sums depend."""
        self._most = torch.get_num_threads()
        free_to_choose = not fixed and not any(name in os.environ for name in _USER)
        self._on = device.type == "cpu" and self._most > 1 and free_to_choose
        self._last: _Usage | None = None

    def __enter__(self) -> Self:
        if self._on and (free := _cores_left_free()) is not None:
            torch.set_num_threads(max(1, min(self._most, free)))
            self._last = _Usage.now()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._last is not None:
            torch.set_num_threads(self._most)

    def adapt(self) -> None:
        """Take another number of threads if the last quarter of a second says so.

        Call it between two steps of the loop, in the thread that computes.
        """
        if self._last is None or time.monotonic() - self._last.clock < _EVERY:
            return
        before, self._last = self._last, _Usage.now()
        if self._last is not None:
            seconds = self._last.clock - before.clock
            shares = [(now - then) / seconds for now, then in zip(self._last, before, strict=True)]
            threads = fitting_threads(torch.get_num_threads(), *shares[1:])
            torch.set_num_threads(min(self._most, threads))


def fitting_threads(threads: int, computed: float, waited: float, idle: float) -> int:
    """How many threads suit a machine on which `threads` ran until now.

    Args:
        threads: so many, at least 1.
        computed, waited: how many of them ran, and how many had to wait for a core, on average.
        idle: how many cores had nothing to do, on average.
    """
    if waited > _CROWDED:
        # While one waits, another program has its core: so many cores are not ours.
        return max(1, min(threads - 1, int(computed - waited)))
    return threads + round(idle) if idle > _FREE else threads


class _Usage(NamedTuple):
    """Seconds since some moment.

    clock: that have passed.
    computed, waited: in which the threads of this process ran, and were ready but had no core.
    idle: in which the cores on which it may run had nothing to do.
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


def _cores_left_free() -> int | None:
    """How many of this machine's cores nothing else runs on at this moment."""
    try:
        running = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])
    except (OSError, ValueError, IndexError):
        return None
    return (os.cpu_count() or 1) - (running - 1)
