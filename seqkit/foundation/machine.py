"""What this process may take of its machine: memory, cores and threads; and calls that may hang.

Linux grants more memory than there is, and kills the process that uses it. So a command compares
a low estimate of what it will need with what is free, and refuses what cannot fit.

Threads share out every operation and wait for each other at its end by spinning. Where another
program takes the core of one of them, all others wait for a thread that does not run: beside one
busy program on two cores, a step in two threads takes 23 to 260 times as long as in one
(docs/measured/speed.md). NumPy's BLAS has one thread, which `__main__` sees to.
"""

import contextlib
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from pathlib import Path
from typing import TypeVar

from seqkit.foundation.device import HOST, Device
from seqkit.foundation.errors import DeviceError

FEW = 4
"""Threads for small operations: what takes seconds in these can take minutes in 32."""
_EVERY = 0.25  # seconds between looks at the machine
_TAKEN = 0.4  # of a core: when others take less, a thread still gets on
_HEAR = 0.5  # seconds at most until a signal is heard
_SET_BY_USER = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_DYNAMIC", "MKL_DYNAMIC"),
    *("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"),
)
"""Variables by which the user says how many threads OpenMP takes, and how they wait."""
T = TypeVar("T")


def own_cores(root: Path = Path("/")) -> int:
    """How many cores this process may use: a container may see 64 and get the time of two.

    A container sees its own control group (version 2) as the outermost. `root` is where the
    system's files are looked for.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # only Linux has it
    granted = len(affinity(0)) if affinity else os.cpu_count() or 1
    with contextlib.suppress(OSError, ValueError):  # the word max: no bound
        quota, period = map(int, (root / "sys/fs/cgroup/cpu.max").read_text().split())
        granted = min(granted, math.ceil(quota / period))
    return granted


def require_memory(needed: int, purpose: str, advice: str, device: Device = HOST) -> None:
    """Raise DeviceError where so many bytes, at least, do not fit into a device's free memory.

    The message says what they are for, and what to try.
    """
    free = free_bytes(device)
    if free is not None and needed > free:
        where = f" on {device}" if device.type == "cuda" else ""
        raise DeviceError(
            f"not enough memory{where}: {purpose} needs at least {needed / 1e9:,.2f} GB, and "
            f"{free / 1e9:,.2f} GB is free. {advice}".rstrip()
        )


def free_bytes(device: Device) -> int | None:
    """What can still be allocated on a device; None where that is not known.

    Swap counts as free. Only Linux tells how much of a host's memory is.
    """
    if device.type == "cuda":
        import torch

        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + kept)
    try:
        lines = map(str.split, Path("/proc/meminfo").read_text().splitlines())
        kilobytes = {words[0]: int(words[1]) for words in lines}
        return 1024 * (kilobytes["MemAvailable:"] + kilobytes["SwapFree:"])
    except (OSError, KeyError):  # no Linux, or one that does not tell
        return None


@contextlib.contextmanager
def shared_cores(
    device: Device = HOST, *, exactly: int | None = None
) -> Iterator[Callable[[], None]]:
    """Keep this process, while a block runs, from waiting for cores that other programs have.

        with shared_cores(device) as adapt:
            for batch in batches:
                adapt()
                compute(batch)

    `adapt`, called in the thread that computes, takes as many threads as others left cores, and
    never more than there were before. The end of the block puts their number back. A generator
    must not yield within a block: whoever takes from it computes, too.

    PyTorch keeps its number on a GPU, where the last digits of sums depend on it, where operations
    have to repeat to the bit, where the environment says how OpenMP is to run, and where the system
    does not tell how its cores are used: only Linux does. `exactly` is their number if that has to
    stay.
    """
    torch = sys.modules.get("torch")
    if torch is None:
        yield lambda: None
        return
    given = any(name in os.environ for name in _SET_BY_USER)
    fixed = given or torch.are_deterministic_algorithms_enabled()
    adapts = sys.platform == "linux" and device.type == "cpu" and not fixed

    def adapt() -> None:
        number = exactly or (min(usual, _CORES.free()) if adapts else usual)
        if number != torch.get_num_threads():
            torch.set_num_threads(number)

    with _CORES.in_use(torch.get_num_threads()) as usual:
        try:
            adapt()
            yield adapt
        finally:
            torch.set_num_threads(usual)


class _Cores:
    """What all blocks of `shared_cores` have in common."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._blocks = self._usual = 0
        self._looked, self._left, self._free = 0.0, 0.0, 1

    @contextlib.contextmanager
    def in_use(self, threads: int) -> Iterator[int]:
        """Hand on the number of threads that PyTorch had before the first of the open blocks."""
        with self._lock:
            self._usual = self._usual if self._blocks else threads
            self._blocks += 1
        try:
            yield self._usual
        finally:
            with self._lock:
                self._blocks -= 1

    def free(self) -> int:
        """How many cores others left to this process since the last look; one before the first."""
        with self._lock:
            if (seconds := time.monotonic() - self._looked) >= _EVERY:
                before, self._left = self._left, _left()
                if self._looked:
                    others_left = (self._left - before) / seconds
                    self._free = max(1, min(int(others_left + _TAKEN), own_cores()))
                self._looked = time.monotonic()
            return self._free


_CORES = _Cores()


def _left() -> float:
    """The seconds in which cores ran this process, or idled although it may run there."""
    cores = {f"cpu{core}" for core in os.sched_getaffinity(0)}
    rows = (line.split() for line in Path("/proc/stat").read_text().splitlines())
    idle = sum(int(row[4]) + int(row[5]) for row in rows if row[0] in cores)
    return time.process_time() + idle / os.sysconf("SC_CLK_TCK")


class HangingError(Exception):
    """A call did not return in time; a TimeoutError is one that the call itself raised."""


def call_with_timeout(timeout: float | None, call: Callable[[], T]) -> T:
    """What a call returns; if it takes more than `timeout` seconds, its thread is left behind.

    Signals are heard meanwhile, also where the call is one of C++: at the latest after half a
    second, since a wait without end misses one that comes just before it. None waits for ever.

    Raises HangingError, and what the call raises.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    left = math.inf if timeout is None else timeout
    while not wait([answer], min(left, _HEAR)).done:
        left -= _HEAR
        if left <= 0:
            raise HangingError
    return answer.result()
