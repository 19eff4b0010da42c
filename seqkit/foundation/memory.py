"""How much memory is free, and a refusal, before anything is allocated, where it cannot suffice.

Linux grants more memory than there is, and kills the process that uses it. So a command compares
what it will need at least, an estimate from shapes, with what is free, control groups included.
"""

import contextlib
import os
import resource
from collections.abc import Callable
from pathlib import Path

import torch

from seqkit.foundation import cgroups
from seqkit.foundation.errors import DeviceError
from seqkit.foundation.wording import byte_count

HOST = torch.device("cpu")
"""The machine's own memory."""
_SAFE = 0.6  # the share of free memory that advice fills: more may be needed than is estimated


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
            f"{byte_count(needed)}, and {byte_count(free)} is free. {advice()}".rstrip()
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


def free_bytes(device: torch.device) -> int | None:
    """What can still be allocated on a device; None where that is not known."""
    if device.type == "cuda":
        kept = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
        return int(torch.cuda.mem_get_info(device)[0] + kept)
    bounds = [_machine(Path("/")), *cgroups.memory_left(), _address_space()]
    known = [bound for bound in bounds if bound is not None]
    return max(0, min(known)) if known else None


def _machine(root: Path) -> int | None:
    """What the whole machine has free; `root` is where its files are looked for.

    Without Linux's /proc (macOS) it is all the memory that there is.
    """
    with contextlib.suppress(OSError, KeyError, ValueError):
        fields = cgroups.fields(root / "proc/meminfo")
        return 1024 * (fields["MemAvailable:"] + fields.get("SwapFree:", 0))
    with contextlib.suppress(OSError, ValueError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None


def _address_space() -> int | None:
    """What `ulimit -v` leaves."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    with contextlib.suppress(OSError, ValueError):  # Linux's /proc
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        return limit - pages * resource.getpagesize()
    return None
