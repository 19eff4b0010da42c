"""How many threads PyTorch computes with on a CPU: no more than there are cores free.

OpenMP's threads share out every operation and wait for each other at its end by spinning. Where
another program takes the core of one of them, all others wait for a thread that does not run: with
four of 16 cores busy, a training step in 16 threads takes 280 times as long as in 8.
"""

import contextlib
import math
import os
import time
from pathlib import Path
from types import TracebackType
from typing import ClassVar, NamedTuple, Self

import torch

from seqkit import control_groups

_EVERY = 0.25  # seconds between looks at the machine
_LOOKS, _BETWEEN = 5, 0.02  # at the machine, and the seconds from one to the next
_CROWDED = 0.3  # threads that wait for a core, on average: one is too many
_FREE = 0.8  # of a core that idles: one more thread is worth it
_OPENMP = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_DYNAMIC", "MKL_DYNAMIC"),
    *("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"),
)
"""Variables by which the user says how OpenMP is to run."""


class SharedCores:
    """Keeps PyTorch, while a loop runs, to the cores that other programs leave free.

        with SharedCores(device) as cores:
            for batch in batches:
                cores.adapt()
                compute(batch)

    It never takes more threads than PyTorch had before, which it has again after the last of the
    blocks that run at the same time. It does nothing on a GPU, where the environment says how
    OpenMP is to run, where PyTorch is to repeat to the bit (the last digits of sums depend on the
    number of threads), or where the system does not tell how its cores are used: only Linux does.
    """

    _users: ClassVar[int] = 0  # loops that are under way
    _most: ClassVar[int] = 1  # threads that they may take

    def __init__(self, device: torch.device, fixed: bool = False) -> None:
        """`device` is where the loop computes; `fixed`: the number of threads has to stay."""
        fixed = fixed or torch.are_deterministic_algorithms_enabled()
        self._on = device.type == "cpu" and not fixed and not are_told()
        self._last: _Usage | None = None

    def __enter__(self) -> Self:
        self._last = _Usage.now() if self._on else None
        self._on = self._last is not None
        if self._on:
            if not SharedCores._users:
                SharedCores._most = torch.get_num_threads()
            SharedCores._users += 1
            free = _cores_left_free()
            torch.set_num_threads(self._allowed(torch.get_num_threads() if free is None else free))
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
            torch.set_num_threads(self._allowed(threads))

    def _allowed(self, threads: int) -> int:
        return max(1, min(threads, SharedCores._most, cores_granted()))


def are_told() -> bool:
    """Whether the environment says how OpenMP is to run."""
    return any(name in os.environ for name in _OPENMP)


def own_cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # only Linux has it
    return min(len(affinity(0)) if affinity else os.cpu_count() or 1, cores_granted())


def lasting_threads() -> int:
    """How many threads suit work that keeps their number: one for each core that is free.

    Programs that run for a moment do not count, so this looks several times. Where the environment
    says how OpenMP is to run, or the system does not tell, it is PyTorch's own number.
    """
    most = torch.get_num_threads()
    if are_told():
        return most
    free = []
    for _ in range(_LOOKS):
        if (cores := _cores_left_free()) is None:
            return most
        free.append(cores)
        time.sleep(_BETWEEN)
    return max(1, min(max(free), most, cores_granted()))


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


def cores_granted(root: Path = Path("/")) -> int:
    """How many cores' time the control groups grant this process; as many as there are by default.

    A container may see 64 cores and get the time of two. `root` is where the system's files are
    looked for.
    """
    granted = os.cpu_count() or 1
    for folder, first_version in control_groups.folders(root, "cpu"):
        with contextlib.suppress(OSError, ValueError, ZeroDivisionError):  # the word max: no bound
            if first_version:
                names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")  # a quota of -1: no bound
                quota, period = (int((folder / name).read_text()) for name in names)
            else:
                quota, period = map(int, (folder / "cpu.max").read_text().split())
            if quota > 0:
                granted = min(granted, math.ceil(quota / period))
    return granted
