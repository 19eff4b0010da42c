"""The processes of one command: how they meet, and what they add up, share and talk to.

Only this file knows torch.distributed. Tensors on a GPU are added up by NCCL, which a CUDA graph
records; everything else goes over gloo, which fails at once where a process has ended.
"""

import contextlib
import datetime
import os
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore
from torch.distributed.rendezvous import rendezvous

from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.console import Notice, Progress, unseen
from seqkit.foundation.errors import ConfigError, LostProcessError
from seqkit.foundation.machine import call_with_timeout
from seqkit.foundation.processes import Rank

_TIMEOUT = datetime.timedelta(days=1)  # a process may validate, or read data, while others wait
_GRACE = 2.0  # seconds in which the launcher is to see which process ended first
T = TypeVar("T")


class Ranks:
    """The processes of one command, as one of them sees it.

    All of them call the same methods in the same order. Alone, a process agrees with itself: every
    method returns at once.
    """

    def __init__(self, rank: Rank) -> None:
        self.rank = rank

    @property
    def alone(self) -> bool:
        """Whether there is no other process."""
        return self.rank.size == 1

    @property
    def leads(self) -> bool:
        """Whether this process is the one that writes and speaks."""
        return self.rank.leads

    def sum(self, values: Tensor) -> None:
        """Add up a tensor over all processes, in place. A CUDA graph can record it on a GPU."""
        self._reduce(values, dist.ReduceOp.SUM)

    def max(self, values: Tensor) -> None:
        """Make every number the largest that a process has in its place; otherwise as `sum`."""
        self._reduce(values, dist.ReduceOp.MAX)

    def any(self, flag: bool) -> bool:
        """Whether the flag of a process is set. The processes wait for each other here."""
        flags = torch.tensor(int(flag))
        self.max(flags)
        return bool(flags)

    def clock(self) -> float:
        """Seconds that never go back, the same for all."""
        seconds = torch.tensor(time.monotonic() if self.leads else 0.0, dtype=torch.float64)
        self.sum(seconds)
        return float(seconds)

    def shared(self, make: Callable[[], T]) -> T:
        """What `make` returns on rank 0; it is called nowhere else."""
        box = [make() if self.leads else None]
        if not self.alone:
            with _others_alive():
                dist.broadcast_object_list(box)
        return box[0]  # type: ignore[return-value]

    def everyone(self, value: T) -> list[T]:
        """What each process has, by rank."""
        values = [value] * self.rank.size
        if not self.alone:
            with _others_alive():
                dist.all_gather_object(values, value)
        return values

    def first(self, value: T | None) -> T | None:
        """The value of the lowest rank that has one."""
        if not self.any(value is not None):
            return None
        return next(own for own in self.everyone(value) if own is not None)

    @contextlib.contextmanager
    def turn(self, first: bool) -> Iterator[None]:
        """Let the processes that are `first` go through the block before the others."""
        if not first:
            self.any(False)
        yield
        if first:
            self.any(False)

    def check_same(self, values: Mapping[str, object]) -> None:
        """Raise ConfigError where this process has another of these values than rank 0."""
        first = self.shared(lambda: dict(values))
        for key in {**first, **values}:
            if values.get(key) != first.get(key):
                raise ConfigError(
                    f"it differs from rank 0 and has {key}={values.get(key)}, not "
                    f"{first.get(key)}: start all processes with the same command, data and "
                    "versions, on GPUs of one kind"
                )

    def _reduce(self, values: Tensor, operation: dist.ReduceOp.RedOpType) -> None:
        if self.alone:
            return
        with contextlib.nullcontext() if values.is_cuda else _others_alive():
            dist.all_reduce(values, op=operation)


ALONE = Ranks(Rank())


@dataclass(frozen=True)
class Session:
    """What reading data and setting up a training share, whatever is read and trained.

    catalogue: where data sets, codecs and recipes are looked for.
    notice: tells the user.
    progress: shows how far a long task is.
    ranks: the processes that train together; all of them walk through the same stages.
    """

    catalogue: Catalogue
    notice: Notice
    progress: Progress = unseen
    ranks: Ranks = ALONE


def joined(rank: Rank, progress: Progress = unseen) -> Ranks:
    """Join the processes that were started for one command; a process alone joins nothing.

    Raises:
        ConfigError: the processes cannot reach each other.
        KeyboardInterrupt: a signal came while the others were waited for.
    """
    if rank.size == 1:
        return ALONE
    with progress("waiting for the other processes"):
        call_with_timeout(None, lambda: _connect(rank))  # in C++, which hears no signal
    return Ranks(rank)


def _connect(rank: Rank) -> None:
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    try:
        left = next(rendezvous("env://"))[0]
        # What processes that torchrun started before have left in it is passed over.
        store = PrefixStore(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0"), left)
        dist.init_process_group(
            backend, store=store, rank=rank.number, world_size=rank.size, timeout=_TIMEOUT
        )
    except (RuntimeError, ValueError) as error:
        said = str(error).strip().partition("\n")[0]
        raise ConfigError(
            f"no way to the other {rank.size - 1} process(es): {said}. Is the port in use "
            "(torchrun --master-port=…), are all machines reachable?"
        ) from error


@contextlib.contextmanager
def _others_alive() -> Iterator[None]:
    """Raise LostProcessError where the others cannot be reached any more."""
    try:
        yield
    except RuntimeError as error:
        with contextlib.suppress(KeyboardInterrupt):  # the launcher's signal is obeyed here
            time.sleep(_GRACE)
        raise LostProcessError(
            "another process has ended (the launcher's report names its rank and exit code)"
        ) from error
