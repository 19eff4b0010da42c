"""What this process may take of its machine: memory, cores, and so threads.

Linux grants more memory than there is, and kills the process that uses it. So a command compares
what it will need at least, an estimate from shapes, with what is free, and refuses what cannot fit.

OpenMP's threads share out every operation and wait for each other at its end by spinning. Where
another program takes the core of one of them, all others wait for a thread that does not run: with
four of 16 cores busy, a training step in 16 threads takes 280 times as long as in 8.
"""

import bisect
import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import NamedTuple, Self

import torch

from seqkit.foundation.errors import DeviceError
from seqkit.foundation.wording import byte_count

HOST = torch.device("cpu")
"""The machine's own memory."""
_SAFE = 0.6  # the share of free memory that advice fills: more may be needed than is estimated
_CACHE = ("inactive_file", "active_file")  # of memory.stat: what the kernel can give back
_EVERY = 0.25  # seconds between looks at the machine
_LOOK = 0.1  # seconds that the one look at it takes by which a number is chosen that stays
_TAKEN = 0.4  # of a core: when others take less, a thread still gets on
_SET_BY_USER = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OMP_DYNAMIC", "MKL_DYNAMIC"),
    *("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "KMP_BLOCKTIME"),
)
"""Variables by which the user says how many threads OpenMP takes, and how they wait."""


def own_cores(root: Path = Path("/")) -> int:
    """How many cores this process may use: a container may see 64 and get the time of two.

    `root` is where the system's files are looked for.
    """
    affinity = getattr(os, "sched_getaffinity", None)  # only Linux has it
    granted = len(affinity(0)) if affinity else os.cpu_count() or 1
    for group in _groups(root):
        with contextlib.suppress(OSError, ValueError):  # the word max: no bound
            quota, period = map(int, (group / "cpu.max").read_text().split())
            granted = min(granted, math.ceil(quota / period))
    return granted


def require(
    needed: int,
    free: int | None,
    purpose: str,
    advice: str,
    device: torch.device = HOST,
) -> None:
    """Refuse what cannot fit into the free memory.

    Args:
        needed: bytes, at least.
        free: bytes, see `free_bytes`.
        purpose: what needs them, in words.
        advice: what to try.
        device: whose memory it is.

    Raises:
        DeviceError: more is needed than is free.
    """
    if free is not None and needed > free:
        where = f" on {device}" if device.type == "cuda" else ""
        raise DeviceError(
            f"not enough memory{where}: {purpose} needs at least "
            f"{byte_count(needed)}, and {byte_count(free)} is free. {advice}".rstrip()
        )


def largest(needed: Callable[[int], int], free: int | None, below: int) -> int:
    """The largest number below `below` with which an estimate fits; 0 for none.

    Args:
        needed: bytes, at least, for a number; it grows with the number.
        free: bytes.
        below: a number that is known to be too large, whatever is free.
    """
    room = needed(below) if free is None else min(free, needed(below))
    return bisect.bisect_right(range(1, below), _SAFE * room, key=needed)


def free_bytes(device: torch.device, root: Path = Path("/")) -> int | None:
    """What can still be allocated on a device; None where that is not known.

    Swap counts as free. Without Linux's /proc (macOS) all the memory that there is does. `root` is
    where the system's files are looked for.
    """
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + kept)
    try:
        fields = _fields(root / "proc/meminfo")
        free, swap = (1024 * fields[name] for name in ("MemAvailable:", "SwapFree:"))
    except (OSError, KeyError):
        with contextlib.suppress(OSError, ValueError):
            return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        return None
    return max(0, swap + min([free, *_left_by_groups(root)]))


def _left_by_groups(root: Path) -> Iterator[int]:
    """The bytes that each group with a limit leaves."""
    for group in _groups(root):
        with contextlib.suppress(OSError, ValueError, KeyError):  # the word max: no limit
            most, used = (int((group / f"memory.{of}").read_text()) for of in ("max", "current"))
            statistics = _fields(group / "memory.stat")
            yield most - used + sum(statistics[name] for name in _CACHE)


def _groups(root: Path) -> Iterator[Path]:
    """The folders of the process's control groups (version 2), from its own to the outermost.

    A container sees its own group as the outermost, under whatever path the host gave it: folders
    that are not there are among these, too.
    """
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                own = PurePosixPath(line.removeprefix("0::").lstrip("/"))
                yield from (root / "sys/fs/cgroup" / level for level in (own, *own.parents))


def _fields(file: Path) -> dict[str, int]:
    """The lines `name number …` of a file. Raises OSError."""
    lines = (line.split() for line in file.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}


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
        fixed = fixed or torch.are_deterministic_algorithms_enabled() or threads_are_given()
        self._last = None if fixed or device.type != "cpu" else _Usage.now()
        self._most = torch.get_num_threads()

    def __enter__(self) -> Self:
        if self._last:
            torch.set_num_threads(min(self._most, own_cores(), lasting_threads()))
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


@contextlib.contextmanager
def few_threads(most: int) -> Iterator[None]:
    """So many threads of PyTorch at most, for small products: more would wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, most))
    try:
        yield
    finally:
        torch.set_num_threads(before)


def threads_are_given() -> bool:
    """Whether the environment says how OpenMP is to run."""
    return any(name in os.environ for name in _SET_BY_USER)


def lasting_threads() -> int:
    """How many threads suit work that keeps their number: one for each own core that idles.

    Where the environment says how OpenMP is to run, or the system does not tell, it is PyTorch's
    own number.
    """
    before = None if threads_are_given() else _Usage.now()
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
