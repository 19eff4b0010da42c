"""Where this process stands among those that torchrun started for one command."""

import contextlib
import os
import sys
from dataclasses import dataclass
from typing import NoReturn

_SET_BY_TORCHRUN = (
    *("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE"),
    *("MASTER_ADDR", "MASTER_PORT"),
)


@dataclass(frozen=True)
class Rank:
    """One of `size` processes, numbered from 0; the first of them leads.

    `local_number` is its number among the `local_size` ones on this machine.
    """

    number: int = 0
    size: int = 1
    local_number: int = 0
    local_size: int = 1

    @property
    def leads(self) -> bool:
        """Whether this process is the one that writes and speaks."""
        return self.number == 0


ALONE = Rank()
"""The only process."""


def own_rank() -> Rank:
    """As the environment says; alone where it does not say all of it.

    Clusters set some of these variables for programs that know nothing of them.
    """
    try:
        values = [os.environ[name] for name in _SET_BY_TORCHRUN]
        return Rank(*map(int, values[:4]))
    except (KeyError, ValueError):
        return ALONE


def named(message: str) -> str:
    """A message with the rank that it comes from, where that is not the first."""
    rank = own_rank()
    return message if rank.leads else f"rank {rank.number}: {message}"


def end(code: int) -> NoReturn:
    """End this process here.

    Python's own way out would take all of PyTorch apart, and would wait for sums on a GPU, even
    those with processes that have ended.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
    os._exit(code)
