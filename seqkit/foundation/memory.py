"""How much memory is free, and a refusal, before anything is allocated, where it cannot suffice.

Linux grants more memory than there is, and kills the process that uses it. So a command compares
what it will need at least, an estimate from shapes, with what is free, control groups included.
"""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from seqkit.foundation import cgroups
from seqkit.foundation.errors import DeviceError

HOST = torch.device("cpu")
"""The machine's own memory."""
_SAFE = 0.6  # the share of free memory that advice fills: more may be needed than is estimated
_CACHE = ("inactive_file", "active_file")  # of memory.stat: what the kernel can give back


def require(
    needed: int,
    free: int | None,
    purpose: str,
    advice: Callable[[], str],
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
            f"{readable(needed)}, and {readable(free)} is free. {advice()}".rstrip()
        )


def largest(needed: Callable[[int], int], free: int | None, below: int) -> int:
    """The largest number below `below` with which an estimate fits; 0 for none.

    Args:
        needed: bytes, at least, for a number; it grows with the number.
        free: bytes.
        below: a number that is known to be too large, whatever is free.
    """
    room = needed(below) if free is None else min(free, needed(below))
    fits, too_large = 0, below
    while too_large - fits > 1:
        middle = (fits + too_large) // 2
        if needed(middle) <= _SAFE * room:
            fits = middle
        else:
            too_large = middle
    return fits


def readable(count: int) -> str:
    """A number of bytes as 512 MB, 3.2 GB or 48 TB."""
    amount, unit = count / 1e6, "MB"
    for larger in ("GB", "TB", "PB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}" if amount < 10 else f"{amount:.0f} {unit}"


def free_bytes(device: torch.device) -> int | None:
    """What can still be allocated on a device; None where that is not known."""
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + kept)
    bounds = [_machine(Path("/")), *_control_groups(Path("/")), _address_space()]
    known = [bound for bound in bounds if bound is not None]
    return max(0, min(known)) if known else None


def _machine(root: Path) -> int | None:
    """What the whole machine has free; `root` is where its files are looked for.

    Without Linux's /proc (macOS) it is all the memory that there is.
    """
    with contextlib.suppress(OSError, KeyError, ValueError):
        fields = _fields(root / "proc/meminfo")
        return 1024 * (fields["MemAvailable:"] + fields.get("SwapFree:", 0))
    with contextlib.suppress(OSError, ValueError, AttributeError):  # POSIX only
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _control_groups(root: Path) -> Iterator[int]:
    """What the process's control groups leave it, from its own to the outermost."""
    swap = 0
    with contextlib.suppress(OSError):
        swap = 1024 * _fields(root / "proc/meminfo").get("SwapFree:", 0)
    for folder, first_version in cgroups.folders(root, "memory"):
        with contextlib.suppress(OSError, ValueError, KeyError):
            yield (_left_in_v1 if first_version else _left_in_v2)(folder, swap)


def _left_in_v2(group: Path, swap: int) -> int:
    """Raises OSError, KeyError or ValueError (the word max) where there is no limit."""
    left = _number(group / "memory.max") - _number(group / "memory.current")
    with contextlib.suppress(OSError, ValueError):  # max: as much as the machine has
        own = _number(group / "memory.swap.max") - _number(group / "memory.swap.current")
        swap = min(swap, own)
    statistics = _fields(group / "memory.stat")
    return left + swap + sum(statistics[name] for name in _CACHE)


def _left_in_v1(group: Path, swap: int) -> int:
    """Raises OSError or KeyError where there is no such group."""
    left = _number(group / "memory.limit_in_bytes") - _number(group / "memory.usage_in_bytes")
    left += swap
    with contextlib.suppress(OSError):  # the limit of memory and swap together
        both = _number(group / "memory.memsw.limit_in_bytes")
        left = min(left, both - _number(group / "memory.memsw.usage_in_bytes"))
    statistics = _fields(group / "memory.stat")
    return left + sum(statistics[f"total_{name}"] for name in _CACHE)


def _address_space() -> int | None:
    """What `ulimit -v` leaves."""
    with contextlib.suppress(ImportError, OSError, ValueError):  # POSIX, and Linux's /proc
        import resource

        limit, _ = resource.getrlimit(resource.RLIMIT_AS)
        if limit != resource.RLIM_INFINITY:
            pages = int(Path("/proc/self/statm").read_text().split()[0])
            return limit - pages * resource.getpagesize()
    return None


def _number(file: Path) -> int:
    return int(file.read_text())


def _fields(file: Path) -> dict[str, int]:
    """The lines `name number …` of a file."""
    lines = (line.split() for line in file.read_text().splitlines())
    return {words[0]: int(words[1]) for words in lines if len(words) > 1}
