"""What this process may take of its machine: memory and cores.

Linux grants more memory than there is, and kills the process that uses it. So a command compares
a low estimate of what it will need with what is free, and refuses what cannot fit.
"""

import contextlib
import math
import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from seqkit.foundation.device import HOST, Device
from seqkit.foundation.errors import DeviceError
from seqkit.foundation.wording import byte_count

_CACHE = ("inactive_file", "active_file")  # of memory.stat: what the kernel can give back


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


def require_memory(needed: int, purpose: str, advice: str, device: Device = HOST) -> None:
    """Refuse what cannot fit into the free memory.

    Args:
        needed: bytes, at least.
        purpose: what needs them, in words.
        advice: what to try.
        device: whose memory it is.

    Raises:
        DeviceError: more is needed than is free.
    """
    free = free_bytes(device)
    if free is not None and needed > free:
        where = f" on {device}" if device.type == "cuda" else ""
        raise DeviceError(
            f"not enough memory{where}: {purpose} needs at least "
            f"{byte_count(needed)}, and {byte_count(free)} is free. {advice}".rstrip()
        )


def free_bytes(device: Device, root: Path = Path("/")) -> int | None:
    """What can still be allocated on a device; None where that is not known.

    Swap counts as free. Without Linux's /proc (macOS) all the memory that there is does. `root` is
    where the system's files are looked for.
    """
    if device.type == "cuda":
        import torch

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
                group = PurePosixPath(line.removeprefix("0::").lstrip("/"))
                yield from (root / "sys/fs/cgroup" / level for level in (group, *group.parents))


def _fields(file: Path) -> dict[str, int]:
    """The lines `name number …` of a file. Raises OSError."""
    lines = (line.split() for line in file.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}
