"""The processes that prepare data together."""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from seqkit.data.meter import Meter
from seqkit.data.shards.tasks import Job, Watch
from seqkit.foundation import threads, workers

_FEW = 1 << 23  # bytes for which other processes are not worth their start
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
        function: Callable[[Job, T, Watch], R],
        job: Job,
        work: Sequence[T],
        size: int,
    ) -> Generator[tuple[int, R]]:
        """What `function` makes of every task, as in `workers.share_out`, shown with this title.

        `size` is how many bytes are read. To be closed, so that the processes end.
        """
        own = 1 if size <= _FEW else threads.own_cores()
        with self.meter.shown(title, size):
            count = own if self.processes is None else self.processes
            yield from workers.share_out(function, job, work, count, self.meter.add)
