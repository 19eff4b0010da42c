"""The processes that encode data together."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from seqkit.data.meter import Meter
from seqkit.foundation import threads, workers

_FEW = 1 << 23  # bytes for which other processes are not worth their start
Watch = Callable[[int], None]
S = TypeVar("S")
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class Crew:
    """So many processes, by default one for each core and one alone for little data."""

    processes: int | None
    meter: Meter

    def each(
        self,
        title: str,
        function: Callable[[S, T, Watch], R],
        shared: S,
        work: Sequence[T],
        size: int,
    ) -> list[R]:
        """What `function` makes of every task, as in `workers.share_out`, shown with this title.

        `size` is how many bytes are read.
        """
        own = 1 if size <= _FEW else threads.own_cores()
        count = own if self.processes is None else self.processes
        with self.meter.shown(title, size):
            results = workers.share_out(function, shared, work, count, self.meter.add)
            found: Iterator[tuple[int, R]] = results
            return [result for _, result in sorted(found, key=lambda numbered: numbered[0])]
