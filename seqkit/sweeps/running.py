"""Run the jobs of a sweep, as many at once as there are places, and say what comes of each."""

import contextlib
import signal
import time
from collections.abc import Callable, Sequence

from seqkit.foundation.console import Console
from seqkit.foundation.errors import InterruptedRunError, SeqkitError, StoppedError
from seqkit.foundation.wording import counted, duration
from seqkit.runs import record
from seqkit.runs.layout import is_locked
from seqkit.sweeps.jobs import TIME_OVER, Job, Launcher, Running

FINISHED = "finished"
PRUNED = "pruned"
_LOOK = 0.1  # seconds between two looks at the jobs
_STOPPED = (StoppedError.exit_code, InterruptedRunError.exit_code)


class Grid:
    """Jobs that are all known from the beginning.

    Attributes:
        jobs: those that are known so far, by their numbers.
        total: how many there will be.
    """

    def __init__(self, jobs: Sequence[Job]) -> None:
        self.jobs = [*jobs]
        self.total = len(jobs)
        self._waiting = [*jobs]

    def next(self) -> Job | None:
        """Another one to run; None if there is no more."""
        return self._waiting.pop(0) if self._waiting else None

    def tell(self, job: Job) -> None:
        """Take note of the outcome of one that was handed out: here nothing depends on it."""


class Sweep:
    """The jobs of `source`, as `launcher` runs them."""

    def __init__(
        self,
        source: Grid,
        launcher: Launcher,
        console: Console,
        asked_to_stop: Callable[[], signal.Signals | None],
    ) -> None:
        """`asked_to_stop` tells a signal that came; the jobs then save their state and end."""
        self._source = source
        self._launcher = launcher
        self._console = console
        self._asked = asked_to_stop
        # By place; a job without a process waits for another one, which trains in its folder.
        self._going: dict[int, tuple[Job, Running | None]] = {}
        self._done = sum(job.outcome != "not started" for job in source.jobs)
        self._stopping: signal.Signals | None = None

    def run(self) -> None:
        """Run all of them, or as many as come before a signal.

        On a KeyboardInterrupt, a second signal, and on a failure, jobs that are going are asked
        once more, and end at once.
        """
        with self._console.progress("jobs", self._source.total, self._done) as bar:
            try:
                while self._advance():
                    bar.update(self._done)
                    time.sleep(_LOOK)
            finally:
                if self._going:
                    self._stop(self._stopping or signal.SIGTERM)
                while self._going:
                    with contextlib.suppress(SeqkitError):  # the first failure is what is told
                        self._look()
                    time.sleep(_LOOK)

    def _advance(self) -> bool:
        """See which jobs ended, and fill the free places; whether any is going."""
        if self._stopping is None and (asked := self._asked()) is not None:
            going = counted(len(self._going), "job")
            self._console.notice(f"{asked.name}: {going} asked to save and end")
            self._stop(asked)
        self._look()
        for slot in range(self._launcher.slots):
            while self._stopping is None and slot not in self._going:
                if (job := self._source.next()) is None:
                    break
                self._begin(slot, job)
        return bool(self._going)

    def _begin(self, slot: int, job: Job) -> None:
        """Start a job, unless it has ended, or another process trains in its folder."""
        if job.is_finished:
            self._close(job, f"{FINISHED} before")
            return
        running = None
        if is_locked(job.files.lock):  # by a job of a sweep that was killed
            self._say(job, "another process trains in its folder: it is waited for")
        else:
            running = self._launcher.start(job, slot)
            self._say(job, f"begins: {job.differing}" if job.differing else "begins")
        job.outcome = "still going"
        self._going[slot] = job, running

    def _look(self) -> None:
        for slot, (job, running) in [*self._going.items()]:
            if running is not None:
                ended = running.poll()
            elif self._stopping is not None or not is_locked(job.files.lock):
                ended = StoppedError.exit_code, ""
            else:
                ended = None
            if ended is None:
                continue
            del self._going[slot]
            code, said = ended
            if self._stopping is None and (running is None or self._goes_on(job, running, said)):
                self._begin(slot, job)
            else:
                self._end(job, code, said)

    def _goes_on(self, job: Job, running: Running, said: str) -> bool:
        """Whether a job is queued again: its time limit ended it, and it got further until then."""
        if not self._launcher.queue or TIME_OVER.name not in said:
            return False
        got_further = job.step > running.step
        outcome = "queued again" if got_further else "not queued again, for it came to no new step"
        self._say(job, f"its time is over: it is {outcome}")
        return got_further

    def _end(self, job: Job, code: int, said: str) -> None:
        """Say how a job's process ended."""
        if not code:
            pruned = record.read(job.files.path).state == PRUNED
            self._close(job, PRUNED if pruned else FINISHED)
        elif self._stopping is not None:
            self._close(job, "stopped")
        elif code in _STOPPED:
            self._close(job, "stopped", code)
        else:
            console = Console() if self._console.quiet else self._console
            console.notice(f"[{job.name}] failed: {said or f'see {job.log}'}")
            self._close(job, f"failed, exit code {code}", code)

    def _close(self, job: Job, outcome: str, code: int = 0) -> None:
        job.outcome, job.code = outcome, code
        self._done += outcome != "stopped"
        left = record.read(job.files.path)
        loss = f", validation loss {left.best[1]:.4f}" if left.best else ""
        took = "" if left.seconds is None else f", {duration(left.seconds)}"
        self._say(job, outcome if code else f"{outcome}{loss}{took}")
        self._source.tell(job)

    def _say(self, job: Job, words: str) -> None:
        self._console.notice(f"[{job.name}] {words}")

    def _stop(self, number: signal.Signals) -> None:
        self._stopping = number
        for _, running in self._going.values():
            if running is not None:
                running.stop(number)
