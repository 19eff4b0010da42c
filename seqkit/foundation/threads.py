"""How many threads PyTorch computes with on a CPU, and how they wait for each other.

OpenMP's threads share out every operation and wait for each other at its end by spinning. Where
another program takes the core of one of them, all others wait for a thread that does not run: with
four of 16 cores busy, a training step in 16 threads takes 280 times as long as in 8.
"""

import contextlib
import math
import os
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import ClassVar, NamedTuple, Self

import torch

from seqkit.foundation import cgroups

_EVERY = 0.25  # seconds between looks at the machine
_LOOKS, _BETWEEN = 5, 0.02  # at the machine, and the seconds from one to the next
_CROWDED = 0.3  # threads that wait for a core, on average: one is too many
_FREE = 0.8  # of a core that idles: one more thread is worth it
_LACKING = 0.4  # of a core that threads may lack: this is measured no better
_ALONE = 4  # looks in a row at which no thread lacks a core: other programs have ended
_NUMBER = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_DYNAMIC", "MKL_DYNAMIC")
_WAITING = ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME")
"""Variables by which the user says how many threads OpenMP takes, and how they wait."""


class SharedCores:
    """Keeps PyTorch, while a loop runs, from waiting for cores that other programs have.

        with SharedCores(device) as cores:
            for batch in batches:
                cores.adapt()
                compute(batch)

    As long as they have some, it takes fewer threads. Where their number has to stay, because
    PyTorch is to repeat to the bit (the last digits of sums depend on it) or because the
    environment says how many there are, threads that wait for each other block soon in place of
    spinning. After the loop all is as before.

    It does nothing on a GPU, where the environment says how OpenMP's threads wait, or where the
    system does not tell how its cores are used: only Linux does.
    """

    def __init__(self, device: torch.device, fixed: bool = False) -> None:
        """`device` is where the loop computes; `fixed`: the number of threads has to stay."""
        fixed = fixed or torch.are_deterministic_algorithms_enabled() or _is_set(_NUMBER)
        self._on = device.type == "cpu" and not _is_set(_WAITING)
        self._way: _FewerThreads | _ShortWaits = _ShortWaits() if fixed else _FewerThreads()
        self._last: _Usage | None = None

    def __enter__(self) -> Self:
        self._last = _Usage.now() if self._on else None
        self._on = self._last is not None
        if self._on:
            self._way.begin(_cores_left_free())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._on:
            self._way.end()

    def adapt(self) -> None:
        """Do what the last quarter of a second asks for.

        Call it between two steps of the loop, in the thread that computes.
        """
        if self._last is None or time.monotonic() - self._last.clock < _EVERY:
            return
        before, self._last = self._last, _Usage.now()
        if self._last is not None:
            seconds = self._last.clock - before.clock
            shares = [(now - then) / seconds for now, then in zip(self._last, before, strict=True)]
            self._way.adapt(*shares[1:])


class _FewerThreads:
    """Takes as many threads as there are cores free, and no more than PyTorch had before.

    It has them again after the last of the loops that run at the same time.
    """

    _users: ClassVar[int] = 0  # loops that are under way
    _most: ClassVar[int] = 1  # threads that they may take

    def begin(self, free: int | None) -> None:
        """`free`: so many cores, if that is known."""
        if not _FewerThreads._users:
            _FewerThreads._most = torch.get_num_threads()
        _FewerThreads._users += 1
        self._take(torch.get_num_threads() if free is None else free)

    def adapt(self, computed: float, waited: float, idle: float) -> None:
        """The arguments are those of `fitting_threads`."""
        self._take(fitting_threads(torch.get_num_threads(), computed, waited, idle))

    def end(self) -> None:
        """Give PyTorch its threads back."""
        _FewerThreads._users -= 1
        if not _FewerThreads._users:
            torch.set_num_threads(_FewerThreads._most)

    def _take(self, threads: int) -> None:
        torch.set_num_threads(max(1, min(threads, _FewerThreads._most, cores_granted())))


class _ShortWaits:
    """Lets threads that wait for each other block soon, as long as other programs compute, too.

    GNU's OpenMP, which PyTorch brings along on Linux, spins 300,000 times before it blocks, but
    100 times while there are more threads than cores (GOMP_SPINCOUNT in its manual). So this adds
    threads that sleep. With nothing else running, short waits would cost up to half of the speed.

    Their number is PyTorch's for this one thread, and for threads that begin at that very moment.
    """

    def __init__(self) -> None:
        self._sleeper: threading.Thread | None = None
        self._over = threading.Event()
        self._alone = 0  # looks in a row

    def begin(self, free: int | None) -> None:
        """`free`: so many cores, if that is known."""
        if free is not None and free < torch.get_num_threads():
            self._shorten()

    def adapt(self, computed: float, waited: float, idle: float) -> None:
        """The arguments are those of `fitting_threads`."""
        alone = has_room(torch.get_num_threads(), computed, waited, idle)
        self._alone = self._alone + 1 if alone else 0
        if self._sleeper is None and waited > _CROWDED:
            self._shorten()
        elif self._alone >= _ALONE:
            self.end()

    def end(self) -> None:
        """Let them spin as before."""
        if self._sleeper is not None:
            self._over.set()
            self._sleeper.join()
            self._sleeper = None

    def _shorten(self) -> None:
        threads = torch.get_num_threads()
        if threads == 1:
            return
        # With `threads` these are one more than the cores: OpenMP does not count the sleeper.
        added = max(2, len(os.sched_getaffinity(0)) - threads + 2)
        begun = threading.Event()
        self._over.clear()

        def sleep() -> None:
            try:
                torch.set_num_threads(added)
                torch.zeros(added << 15)  # just large enough to be shared out among all
                torch.set_num_threads(threads)  # for threads that begin later
            finally:
                begun.set()
            self._over.wait()

        sleeper = threading.Thread(target=sleep, name="sleeper", daemon=True)
        with contextlib.suppress(RuntimeError):  # there may be no more threads
            sleeper.start()
            self._sleeper = sleeper
            begun.wait()


def are_told() -> bool:
    """Whether the environment says how OpenMP is to run."""
    return _is_set(_NUMBER) or _is_set(_WAITING)


def _is_set(names: Sequence[str]) -> bool:
    return any(name in os.environ for name in names)


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


def has_room(threads: int, computed: float, waited: float, idle: float) -> bool:
    """Whether each of so many threads finds a core, the ones that block at the moment included.

    Idle cores alone do not tell: beside other programs, too, most idle while one thread computes.
    The arguments are those of `fitting_threads`.
    """
    return waited < _CROWDED and computed + idle > threads - _LACKING


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
    for folder, first_version in cgroups.folders(root, "cpu"):
        with contextlib.suppress(OSError, ValueError, ZeroDivisionError):  # the word max: no bound
            if first_version:
                names = ("cpu.cfs_quota_us", "cpu.cfs_period_us")  # a quota of -1: no bound
                quota, period = (int((folder / name).read_text()) for name in names)
            else:
                quota, period = map(int, (folder / "cpu.max").read_text().split())
            if quota > 0:
                granted = min(granted, math.ceil(quota / period))
    return granted
