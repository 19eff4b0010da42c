"""What Linux's control groups (version 2) let a process take of its machine: cores and memory."""

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

_CACHE = ("inactive_file", "active_file")  # of memory.stat: what the kernel can give back


def cores_granted(root: Path = Path("/")) -> int:
    """How many cores' time this process is granted; as many as there are by default.

    A container may see 64 cores and get the time of two. `root` is where the system's files are
    looked for.
    """
    granted = os.cpu_count() or 1
    for group in _groups(root):
        with contextlib.suppress(OSError, ValueError):  # the word max: no bound
            quota, period = map(int, (group / "cpu.max").read_text().split())
            granted = min(granted, math.ceil(quota / period))
    return granted


def memory_left(root: Path = Path("/")) -> Iterator[int]:
    """The bytes that each group with a limit leaves, from the process's own to the outermost."""
    with contextlib.suppress(OSError, KeyError):
        free_swap = 1024 * fields(root / "proc/meminfo")["SwapFree:"]
        for group in _groups(root):
            with contextlib.suppress(OSError, ValueError, KeyError):
                left = _number(group / "memory.max") - _number(group / "memory.current")
                swap = free_swap
                with contextlib.suppress(OSError, ValueError):  # max: as much as the machine has
                    own = group / "memory.swap.max", group / "memory.swap.current"
                    swap = min(swap, _number(own[0]) - _number(own[1]))
                statistics = fields(group / "memory.stat")
                yield left + swap + sum(statistics[name] for name in _CACHE)


def fields(file: Path) -> dict[str, int]:
    """The lines `name number …` of a file. Raises OSError."""
    lines = (line.split() for line in file.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}


def _groups(root: Path) -> Iterator[Path]:
    """The folders of the process's groups, from its own to the outermost.

    A container sees its own group as the outermost, under whatever path the host gave it: folders
    that are not there are among these, too.
    """
    with contextlib.suppress(OSError):
        for line in (root / "proc/self/cgroup").read_text().splitlines():
            if line.startswith("0::"):
                own = PurePosixPath(line.removeprefix("0::").lstrip("/"))
                yield from (root / "sys/fs/cgroup" / level for level in (own, *own.parents))


def _number(file: Path) -> int:
    return int(file.read_text())
