"""How many threads this process takes: one governor of PyTorch's and of those of NumPy's BLAS.

Both share out every operation and wait for each other at its end by spinning. Where another program
takes the core of one of them, all others wait for a thread that does not run: with four of 16 cores
busy, a training step in 16 threads takes 280 times as long as in 8.
"""

import contextlib
import functools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from threadpoolctl import ThreadpoolController

from seqkit.foundation.machine import HOST, Device, own_cores

FEW = 4
"""Threads for small operations: what takes seconds in these can take minutes in 32."""
_EVERY, _PAUSE = 0.25, 1.0  # seconds between looks at the machine; after which all begins anew
_TAKEN = 0.4  # of a core: when others take less, a thread still gets on
_SET_BY_USER = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_DYNAMIC", "MKL_DYNAMIC"),
    *("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"),
)
"""Variables by which the user says how many threads OpenMP takes, and how they wait."""


@contextlib.contextmanager
def shared_cores(
    device: Device = HOST, *, exactly: int | None = None
) -> Iterator[Callable[[], None]]:
    """Keep this process, while a block runs, from waiting for cores that other programs have.

        with shared_cores(device) as adapt:
            for batch in batches:
                adapt()
                compute(batch)

    NumPy's BLAS takes one thread. PyTorch, if it is there, begins with one after a pause; `adapt`,
    called in the thread that computes, takes as many as others left cores, and never more than
    there were before. A block puts the number back that its thread had, and the last one that of
    the BLAS. A generator must not yield within a block: whoever takes from it computes, too.

    PyTorch keeps its number on a GPU, where the last digits of sums depend on it, where operations
    have to repeat to the bit, where the environment says how OpenMP is to run, and where the system
    does not tell how its cores are used: only Linux does.

    Args:
        device: where the block computes.
        exactly: threads of PyTorch, if their number has to stay.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        with _GOVERNOR.block():
            yield lambda: None
        return
    fixed = torch.are_deterministic_algorithms_enabled() or are_given()
    adapts = sys.platform == "linux" and device.type == "cpu" and not fixed
    counts = _COUNTS.of_thread
    counts.setdefault(None, torch.get_num_threads())

    def adapt() -> None:
        usual = counts[None]
        counts[adapt] = exactly or (min(usual, _GOVERNOR.free_cores()) if adapts else usual)
        _take(counts[adapt])

    with _GOVERNOR.block():
        try:
            adapt()
            yield adapt
        finally:
            counts.pop(adapt, None)
            _take([*counts.values()][-1])
            if len(counts) == 1:
                counts.clear()


def are_given() -> bool:
    """Whether the environment says how OpenMP is to run."""
    return any(name in os.environ for name in _SET_BY_USER)


class _Counts(threading.local):
    """Numbers of threads that one of Python's threads has: under None outside of its blocks.

    Then by the `adapt` of each block, in the order in which they began.
    """

    def __init__(self) -> None:
        self.of_thread = dict[object, int]()


_COUNTS = _Counts()
_TAKING = threading.Lock()


def _take(number: int) -> None:
    """Compute in so many threads of PyTorch, in this thread of Python's alone.

    One in which PyTorch has not run yet begins with what any of them set last; so another one sets
    again what that was.
    """
    torch = sys.modules["torch"]
    if number != torch.get_num_threads():
        with _TAKING, ThreadPoolExecutor(1) as other:
            before = other.submit(torch.get_num_threads).result()
            torch.set_num_threads(number)
            other.submit(torch.set_num_threads, before).result()


class _Governor:
    """What all blocks of `shared_cores` have in common."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = 0
        self._limit = contextlib.ExitStack()  # of NumPy's BLAS
        self._ended = -_PAUSE
        self._looked, self._left, self._free = 0.0, 0.0, 1

    @functools.cached_property
    def libraries(self) -> ThreadpoolController:
        """Those that are loaded at the first block; to find them takes a while."""
        return ThreadpoolController()

    @contextlib.contextmanager
    def block(self) -> Iterator[None]:
        """The first one limits NumPy's BLAS, and the last one puts its numbers back."""
        with self._lock:
            if not self._blocks:
                self._limit.enter_context(self.libraries.limit(limits=1, user_api="blas"))
                if time.monotonic() > self._ended + _PAUSE:
                    self._looked, self._left, self._free = time.monotonic(), _left(), 1
            self._blocks += 1
        try:
            yield
        finally:
            with self._lock:
                self._blocks -= 1
                if not self._blocks:
                    self._limit.close()
                    self._ended = time.monotonic()

    def free_cores(self) -> int:
        """How many cores others left to this process, looked at four times a second."""
        with self._lock:
            if (seconds := time.monotonic() - self._looked) >= _EVERY:
                before, self._looked, self._left = self._left, time.monotonic(), _left()
                self._free = fitting((self._left - before) / seconds)
            return self._free


_GOVERNOR = _Governor()


def fitting(cores: float) -> int:
    """How many threads fit so many cores that others left to this process."""
    return max(1, min(int(cores + _TAKEN), own_cores()))


def _left() -> float:
    """The seconds in which cores ran this process, or idled although it may run there."""
    if sys.platform != "linux":
        return 0.0
    cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    rows = (line.split() for line in Path("/proc/stat").read_text().splitlines())
    idle = sum(int(row[4]) + int(row[5]) for row in rows if row[0] in cores)
    return time.process_time() + idle / os.sysconf("SC_CLK_TCK")
