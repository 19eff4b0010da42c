"""The processes of one command: how they meet, and what they add up, share and agree on.

Only this file knows torch.distributed. Tensors on a GPU are added up by NCCL, which a CUDA graph
records; everything else goes over gloo, which fails at once where a process has ended, and which no
GPU waits for.
"""

import contextlib
import datetime
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.distributed_c10d import PrefixStore, Store
from torch.distributed.rendezvous import rendezvous

from seqkit.foundation.console import Progress, unseen
from seqkit.foundation.errors import (
    ConfigError,
    InterruptedRunError,
    LostProcessError,
    SeqkitError,
    StoppedError,
    expected,
)
from seqkit.foundation.processes import Rank
from seqkit.foundation.workers import call_with_timeout

_TIMEOUT = datetime.timedelta(days=1)  # a process may validate, or read data, while others wait
_MEETING = 0.02  # seconds between looks at who has come
_FAILURE = "failure"  # in the store: what a process that does not lead ended with
_PACE = 2e-4  # seconds between looks at a GPU
_PATIENCE = 1.0  # seconds of waiting for a GPU until a process asks whether the others live
_GRACE = 2.0  # seconds in which the launcher is to see which process ended first
_COMMON = (StoppedError, InterruptedRunError, LostProcessError)  # no process's own failure
K = TypeVar("K")
T = TypeVar("T")


class Ranks:
    """The processes of one command, as one of them sees it.

    All of them call the same methods in the same order. Alone, a process agrees with itself: every
    method returns at once.
    """

    def __init__(self, rank: Rank, store: Store | None = None, advice: str = "") -> None:
        """Args:
        rank: of this process.
        store: holds what a process leaves for the others when it ends; None if it is alone.
        advice: what the user can do when another process has ended.
        """
        self.rank = rank
        self._store = store
        self._advice: Callable[[], str] = lambda: advice
        self._is_begun = False

    @property
    def alone(self) -> bool:
        """Whether there is no other process."""
        return self.rank.size == 1

    @property
    def leads(self) -> bool:
        """Whether this process is the one that writes and speaks."""
        return self.rank.leads

    def advise(self, advice: Callable[[], str]) -> None:
        """Have it called from now on when another process has ended: what the user can do then.

        The work has begun: there is something to go on with, also where a process has failed.
        """
        if not self.alone:
            self._advice, self._is_begun = advice, True

    def sum(self, values: Tensor) -> None:
        """Add up a tensor over all processes, in place. A CUDA graph can record it on a GPU."""
        self._reduce(values, dist.ReduceOp.SUM)

    def max(self, values: Tensor) -> None:
        """Make every number the largest that a process has in its place; otherwise as `sum`."""
        self._reduce(values, dist.ReduceOp.MAX)

    def settle(self, device: torch.device) -> None:
        """Wait until every process's device is done, for as long as all processes live.

        A GPU waits for ever for a sum with a process that has ended: who waits for the GPU must not
        wait with it. On a CPU there is nothing to wait for.
        """
        if self.alone or device.type != "cuda":
            return
        done = torch.cuda.Event()  # type: ignore[no-untyped-call]
        done.record()
        waiting = True
        while waiting:
            until = time.monotonic() + _PATIENCE
            while not done.query() and time.monotonic() < until:  # type: ignore[no-untyped-call]
                time.sleep(_PACE)
            waiting = bool(self._largest(int(not done.query())))  # type: ignore[no-untyped-call]

    def first(self, value: T | None) -> T | None:
        """The value of the lowest rank that has one."""
        size, number = self.rank.size, self.rank.number
        lowest = size - self._largest(0 if value is None else size - number)
        return None if lowest == size else self._from(lowest, value)

    def shared(self, make: Callable[[], T]) -> T:
        """What `make` returns on rank 0; it is called nowhere else."""
        return self._from(0, make() if self.leads else None)  # type: ignore[return-value]

    def clock(self) -> float:
        """Seconds that never go back, the same for all."""
        if self.alone:
            return time.monotonic()
        seconds = torch.tensor(time.monotonic(), dtype=torch.float64)
        with self._others_alive():
            dist.broadcast(seconds, src=0)
        return float(seconds)

    def gathered(self, values: Tensor) -> Tensor:
        """Tensors (L, n, H) of all processes, each with an n of its own, side by side."""
        if self.alone:
            return values
        return torch.cat(self._objects(values.cpu().clone()), dim=1)

    def rounds(self, items: Iterator[T]) -> Iterator[T | None]:
        """One item a round, until every process had all of its own; None where it has no more."""
        while True:
            item = next(items, None)
            if not self._largest(int(item is not None)):
                return
            yield item

    @contextlib.contextmanager
    def turn(self, first: bool) -> Iterator[None]:
        """Let the processes that are `first` go through the block before the others."""
        if not first:
            self._largest(0)
        yield
        if first:
            self._largest(0)

    def check_same(self, values: Mapping[str, object]) -> None:
        """Raises ConfigError where a process has another of these values than rank 0."""
        first, *others = self._objects(dict(values))
        for rank, other in enumerate(others, 1):
            for key in {**first, **other}:
                if other.get(key) != first.get(key):
                    raise ConfigError(
                        f"rank {rank} differs from rank 0: it has {key}={other.get(key)}, not "
                        f"{first.get(key)}: start all processes with the same command, data and "
                        "versions, on GPUs of one kind"
                    )

    def _largest(self, value: int) -> int:
        """The largest of the processes' values."""
        largest = torch.tensor(value)
        self.max(largest)
        return int(largest)

    def _reduce(self, values: Tensor, operation: dist.ReduceOp.RedOpType) -> None:
        if self.alone:
            return
        if values.device.type == "cuda":
            dist.all_reduce(values, op=operation)
            return
        with self._others_alive():
            dist.all_reduce(values, op=operation)

    def _from(self, rank: int, value: T | None) -> T | None:
        if self.alone:
            return value
        box = [value]
        with self._others_alive():
            dist.broadcast_object_list(box, src=rank)
        return box[0]

    def _objects(self, value: T) -> list[T]:
        """What each process has."""
        values = [value] * self.rank.size
        if self.alone:
            return values
        with self._others_alive():
            dist.all_gather_object(values, value)
        return values

    @contextlib.contextmanager
    def _others_alive(self) -> Iterator[None]:
        try:
            yield
        except RuntimeError as error:
            with contextlib.suppress(KeyboardInterrupt):  # the launcher's signal is obeyed here
                time.sleep(_GRACE)
            raise LostProcessError(
                "another process has ended (the launcher's report names its rank and exit code). "
                + self._advice()
            ) from error

    def leave(self, error: SeqkitError | KeyboardInterrupt) -> None:
        """Raise what this process is to end with.

        Rank 0 speaks for all of them: it ends with what another one has failed with, and that one
        in silence, with its own exit code.
        """
        common = isinstance(error, (*_COMMON, KeyboardInterrupt))
        store = self._store
        if store is None:
            raise error
        with contextlib.suppress(RuntimeError):  # the store may have ended, too
            if not self.leads and not common:
                store.set(_FAILURE, f"rank {self.rank.number}: {error}")
            if self.leads and common and store.check([_FAILURE]):
                failure = store.get(_FAILURE).decode()
                advice = f"\n{self._advice()}" if self._is_begun else ""
                raise LostProcessError(failure + advice) from error
        if self.leads or isinstance(error, KeyboardInterrupt):  # whose signal decides the exit code
            raise error
        raise SystemExit(error.exit_code) from error


ALONE = Ranks(Rank())


@contextlib.contextmanager
def joined(rank: Rank, advice: str = "", progress: Progress = unseen) -> Iterator[Ranks]:
    """Join the processes that were started for one command; a process alone joins nothing.

    `advice` is what the user can do when another process has ended; `progress` shows that the
    others are waited for.

    Raises:
        ConfigError: the processes cannot reach each other.
        KeyboardInterrupt: a signal came while the others were waited for.
        SystemExit: this process does not lead, and failed: rank 0 tells.
    """
    if rank.size == 1:
        yield ALONE
        return
    with progress("waiting for the other processes"):
        store = call_with_timeout(None, lambda: _connected(rank))  # in C++, which hears no signal
    ranks = Ranks(rank, store, advice)
    try:
        yield ranks
    except (SeqkitError, KeyboardInterrupt) as error:
        ranks.leave(error)
    except BrokenPipeError:  # nobody reads what rank 0 prints
        raise
    except (OSError, MemoryError) as error:
        ranks.leave(expected(error))


def _connected(rank: Rank) -> Store:
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo"
    try:
        left: Store = next(rendezvous("env://"))[0]
        store = PrefixStore(name_of_start(left, rank), left)
        dist.init_process_group(
            backend,
            store=PrefixStore("group", store),
            rank=rank.number,
            world_size=rank.size,
            timeout=_TIMEOUT,
        )
    except (RuntimeError, ValueError) as error:
        said = str(error).strip().partition("\n")[0]
        raise ConfigError(
            f"no way to the other {rank.size - 1} process(es): {said}. Is the port in use "
            "(torchrun --master-port=…), are all machines reachable?"
        ) from error
    return store


def name_of_start(store: Store, rank: Rank) -> str:
    """A name that the processes of this start have in common, and no earlier ones had.

    Where torchrun starts processes again, its store still has what those that ended left there,
    their addresses for instance. So rank 0 answers each greeting until the one who waits for that
    very answer has confirmed it.
    """
    name = secrets.token_hex(8)
    if not rank.leads:
        store.set(f"greeting {rank.number}", name)
        answer = str(store.get(f"answer to {name}").decode())
        store.set(f"confirmed {answer} {rank.number}", "")
        return answer
    missing = set(range(1, rank.size))
    while missing:
        for other in sorted(missing):
            if store.check([f"greeting {other}"]):
                store.set(f"answer to {store.get(f'greeting {other}').decode()}", name)
            if store.check([f"confirmed {name} {other}"]):
                missing.remove(other)
        time.sleep(_MEETING)
    return name
