"""Run the jobs of a sweep, several at once, and say what comes of each."""

import contextlib
import json
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from seqkit.foundation.console import Bar, Console
from seqkit.foundation.errors import ConfigError, OutputError, SeqkitError
from seqkit.foundation.wording import counted, duration
from seqkit.runs import record
from seqkit.runs.folder import RunFolder
from seqkit.sweeps import replaced
from seqkit.sweeps.jobs import PRUNES, STOPPED, Job, Source
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
    summary: bytes | None = None


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
        """Start a job, for the first time or again, unless it has ended or another trains it."""
        self._going.pop(slot, None)
        if job.is_finished:
            self._close(job, "finished before", 0)
            return
        if PRUNES in job.environment and job.was_pruned:
            self._close(job, PRUNED, 0)
            return
        if not RunFolder(job.files.path).is_claimed and not self._may_go_on(job):
            return
        going = _Going(job, None)
        if RunFolder(job.files.path).is_claimed:
            self._say(job, "another process trains in its folder: it is waited for")
        else:
            going.summary = job.summary()
            going.running = self._launcher.start(job, slot)
            self._say(job, f"begins: {job.own}" if job.own else "begins")
        job.outcome = "still going"  # it is waited for, unless a third signal comes
        self._going[slot] = going

    def _may_go_on(self, job: Job) -> bool:
        """Whether the run in a job's folder is its own: one of a killed sweep may have begun it."""
        try:
            job.check_run()
        except ConfigError as error:
            self._console.failure(f"[{job.name}] failed: {error}")
            self._close(job, f"failed, exit code {error.exit_code}", error.exit_code)
            return False
        return True

    def _look(self) -> None:
        for slot, going in [*self._going.items()]:
            job = going.job
            if going.running is None:
                if self._stopping is not None:
                    self._leave(slot, "stopped", 0)
                elif not RunFolder(job.files.path).is_claimed:
                    self._begin(slot, job)
            elif (ended := going.running.poll()) is not None:
                if self._came_second(going, ended):
                    self._begin(slot, job)
                else:
                    self._leave(slot, *self._outcome(going, ended))

    def _came_second(self, going: _Going, ended: Ended) -> bool:
        """Whether a job failed because another process trains in its folder by now.

        Such a job of a sweep that was killed was still setting up when this one began its own.
        """
        failed = self._stopping is None and ended.code == OutputError.exit_code
        return failed and RunFolder(going.job.files.path).is_claimed

    def _outcome(self, going: _Going, ended: Ended) -> tuple[str, int]:
        """How a job ended, in words, and the exit code of a failure."""
        summary = going.job.summary()
        if not ended.code and summary is None and _is_pruned(going.job):
            return PRUNED, 0
        if not ended.code:
            return "finished before" if summary == going.summary else FINISHED, 0
        if self._stopping is not None or ended.code in STOPPED:
            is_new = summary not in (None, going.summary)  # only its sample is missing
            code = 0 if self._stopping is not None else ended.code
            return (FINISHED, 0) if is_new else ("stopped", code)
        said = ended.said or f"see {going.job.log}"
        self._console.failure(f"[{going.job.name}] failed: {said}")
        return f"failed, exit code {ended.code}", ended.code

    def _leave(self, slot: int, outcome: str, code: int) -> None:
        self._close(self._going.pop(slot).job, outcome, code)

    def _close(self, job: Job, outcome: str, code: int) -> None:
        job.outcome, job.code = outcome, code
        self._done += outcome != "stopped"
        left = record.read(job.files.path)
        loss = f", validation loss {left.best[1]:.4f}" if left.best else ""
        took = "" if left.seconds is None else f", {duration(left.seconds)}"
        self._say(job, outcome if code else f"{outcome}{loss}{took}")
        self._source.tell(job)
        if outcome != "stopped":  # else it goes on
            try:
                replaced.settle(job.files.path, lambda words: self._say(job, words))
            except OutputError as error:  # it stops no other job
                self._console.failure(f"[{job.name}] {error}")

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
            self._readings = [*map(_standing, self._jobs_going())]
        bar.update(self._done, *self._readings)

    def _jobs_going(self) -> Iterator[Job]:
        for slot in sorted(self._going):
            yield self._going[slot].job


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


def _is_pruned(job: Job) -> bool:
    return record.read(job.files.path).state == "pruned"
