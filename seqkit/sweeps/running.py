"""Run the jobs of a sweep, as many at once as there are places, and say what comes of each."""

import contextlib
import json
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

from seqkit.foundation.console import Bar, Console
from seqkit.foundation.errors import SeqkitError
from seqkit.foundation.wording import counted, duration
from seqkit.runs import record
from seqkit.runs.folder import RunFolder
from seqkit.sweeps.jobs import STOPPED, Job, Source
from seqkit.sweeps.local import Ended, Launcher, Running

_LOOK = 0.1  # seconds between two looks at the jobs
_READ = 1.0  # seconds between two looks at their metrics
_TAIL = 2048  # bytes of metrics in which the last line is looked for
FINISHED = "finished"
PRUNED = "pruned"


@dataclass
class _Going:
    """A job in its place. `running` is None while another process trains in its folder."""

    job: Job
    running: Running | None
    summary: bytes | None


class Sweep:
    """The jobs of `source`, as `launcher` runs them."""

    def __init__(
        self,
        source: Source,
        launcher: Launcher,
        console: Console,
        asked_to_stop: Callable[[], signal.Signals | None],
    ) -> None:
        """`asked_to_stop` tells a signal that came; the jobs then save their state and end."""
        self._source = source
        self._launcher = launcher
        self._console = console
        self._asked = asked_to_stop
        self._going: dict[int, _Going] = {}
        self._done = sum(job.outcome != "not started" for job in source.jobs)
        self._stopping: signal.Signals | None = None
        self._read = 0.0
        self._readings: list[str] = []

    def run(self) -> None:
        """Run all of them, or as many as come before a signal.

        On a KeyboardInterrupt, a second signal, and on a failure, jobs that are going are asked
        once more, and end at once.
        """
        with self._console.progress("jobs", self._source.total, self._done) as bar:
            try:
                self._loop(bar)
            finally:
                self._end_all()

    def _loop(self, bar: Bar) -> None:
        while True:
            if self._stopping is None and (asked := self._asked()) is not None:
                going = counted(len(self._going), "job")
                self._console.notice(f"{asked.name}: {going} asked to save and end")
                self._stop(asked)
            more = self._stopping is None and self._fill()
            if not self._going and not more:
                return
            self._look()
            self._show(bar)
            time.sleep(_LOOK)

    def _end_all(self) -> None:
        """Ask the jobs that are still going to end, and wait for them."""
        if self._going:
            self._stop(self._stopping or signal.SIGTERM)
        while self._going:
            with contextlib.suppress(SeqkitError):  # the first failure is the one that is told
                self._look()
            time.sleep(_LOOK)

    def _fill(self) -> bool:
        """Give the free places a job each; whether there may be more."""
        for slot in range(self._launcher.slots):
            while slot not in self._going:
                if (job := self._source.next()) is None:
                    return False
                self._begin(slot, job)
        return True

    def _begin(self, slot: int, job: Job) -> None:
        """Start a job, unless it has ended, or another process trains in its folder."""
        if job.is_finished:
            self._close(job, "finished before", 0)
            return
        going = _Going(job, None, job.summary())
        if RunFolder(job.files.path).is_claimed:  # by a job of a sweep that was killed
            self._say(job, "another process trains in its folder: it is waited for")
        else:
            going.running = self._launcher.start(job, slot)
            self._say(job, f"begins: {job.own}" if job.own else "begins")
        job.outcome = "still going"
        self._going[slot] = going

    def _look(self) -> None:
        for slot, going in [*self._going.items()]:
            if going.running is None:
                if self._stopping is not None:
                    self._close(self._going.pop(slot).job, "stopped", 0)
                elif not RunFolder(going.job.files.path).is_claimed:
                    self._begin(slot, self._going.pop(slot).job)
            elif (ended := going.running.poll()) is not None:
                self._close(self._going.pop(slot).job, *self._outcome(going, ended))

    def _outcome(self, going: _Going, ended: Ended) -> tuple[str, int]:
        """How a job ended, in words, and the exit code of a failure."""
        summary = going.job.summary()
        if not ended.code:
            if summary is None and record.read(going.job.files.path).state == PRUNED:
                return PRUNED, 0
            return "finished before" if summary == going.summary else FINISHED, 0
        if self._stopping is not None or ended.code in STOPPED:
            if summary not in (None, going.summary):  # only its sample is missing
                return FINISHED, 0
            return "stopped", 0 if self._stopping is not None else ended.code
        said = ended.said or f"see {going.job.log}"
        self._console.failure(f"[{going.job.name}] failed: {said}")
        return f"failed, exit code {ended.code}", ended.code

    def _close(self, job: Job, outcome: str, code: int) -> None:
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
        for going in self._going.values():
            if going.running is not None:
                going.running.stop(number)

    def _show(self, bar: Bar) -> None:
        """How many are done, and where each of the others stands."""
        if time.monotonic() - self._read > _READ:
            self._read = time.monotonic()
            self._readings = [_standing(going.job) for _, going in sorted(self._going.items())]
        bar.update(self._done, *self._readings)


def _standing(job: Job) -> str:
    """The last step that a job has reported, and its loss."""
    try:
        with job.files.metrics.open("rb") as file:
            file.seek(max(0, job.files.metrics.stat().st_size - _TAIL))
            last = [line for line in file.read().split(b"\n")[:-1] if b'"train"' in line][-1]
        found = json.loads(last)
        return f"[{job.name}] step {found['step']} loss {found['loss']:.3f}"
    except (OSError, ValueError, LookupError, TypeError):
        return f"[{job.name}] …"
