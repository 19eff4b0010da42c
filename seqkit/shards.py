"""Shares of a batch's lanes, each computed by a thread of its own.

A recurrent call divides the work of every one of its T steps among the threads, which then wait
for each other T times. Lanes do not depend on each other: threads that each take some of them
through all steps wait once.
"""

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

_Result = TypeVar("_Result")


class Shards:
    """Runs functions for `count` shares of the lanes at the same time; for one, where it is."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._pool: ThreadPoolExecutor | None = None
        if count > 1:
            threads = max(1, torch.get_num_threads() // count)
            # The number of threads that PyTorch takes is a setting of the thread that asks.
            self._pool = ThreadPoolExecutor(
                count, "shard", initializer=torch.set_num_threads, initargs=(threads,)
            )

    def call(self, function: Callable[[], _Result]) -> _Result:
        """Run what calls `run`, and what stands around it, in one of these threads.

        PyTorch's own threads, which those outside make use of, keep a core busy for a while after
        their work is done, and the shares would have to do without it.
        """
        return function() if self._pool is None else self._pool.submit(function).result()

    def run(self, share: Callable[[slice], _Result], lanes: int) -> list[_Result]:
        """What `share` returns for each share of so many lanes, in their order."""
        bounds = [lanes * index // self._count for index in range(self._count + 1)]
        first, *others = (slice(*pair) for pair in itertools.pairwise(bounds))
        if self._pool is None:
            return [share(first)]
        waiting = [self._pool.submit(share, lanes) for lanes in others]
        return [share(first), *(result.result() for result in waiting)]
