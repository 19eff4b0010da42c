"""What follows a training and judges it: report.html, and a warning where it stands badly."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from seqkit.report import page, verdict
from seqkit.runs.events import PRUNED, Diverged, Event, Finished, Started, Stopped
from seqkit.runs.folder import RunFolder
from seqkit.runs.record import State, read
from seqkit.training.events import Stepped, Validated

_SHARE = 0.01  # of the training's time
_FIRST = 0.5  # seconds that the first page is expected to take


class Report:
    """about.json when a run begins or ends early, report.html after validations and at the end.

    A page at a validation that would cost more than its share of the time is left out.
    """

    def __init__(
        self,
        folder: RunFolder,
        about: Callable[[], dict[str, Any]],
        notice: Callable[[str], None],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`about` is what about.json says of the run; `notice` hears where the page is."""
        self._folder = folder
        self._make_about = about
        self._about: dict[str, Any] = {}
        self._notice = notice
        self._clock = clock
        self._written = clock()  # when the last page was, or the training began
        self._page = _FIRST  # seconds that the last page took
        self._due = False

    def __call__(self, event: Event) -> None:
        """Write what is due; what fails is told, and ends no training."""
        try:
            self._follow(event)
        except Exception as error:
            self._notice(f"no report: {error}")

    def _follow(self, event: Event) -> None:
        match event:
            case Started():
                self._about = self._make_about()
                self._folder.write_about({**self._about, "ended": None})
            case Validated():
                self._due = True
            case Stepped() if self._due:  # the sample of this validation is there by now
                self._due = False
                if self._clock() - self._written >= self._page / _SHARE:
                    self._write("running")
            case Stopped():
                self._end("pruned" if event.reason == PRUNED else "stopped", event.step)
            case Diverged():
                self._end("diverged", event.step)
            case Finished():
                self._write("finished")
                self._notice(f"report: {self._folder.files.report}")

    def _end(self, state: State, step: int) -> None:
        self._folder.write_about({**self._about, "ended": {"how": state, "step": step}})
        self._write(state)

    def _write(self, state: State) -> None:
        begun = self._clock()
        self._folder.check_own()
        page.write(self._folder.path, state)
        self._written = self._clock()
        self._page = self._written - begun


class Warnings:
    """An observer of a training, which comes after those that write its metrics and about.json."""

    def __init__(self, path: Path, notice: Callable[[str], None]) -> None:
        """Of the run in a folder; `notice` is told where it stands, if it stands badly."""
        self._path = path
        self._notice = notice
        self._judged = 0  # the step after which the run was last judged
        self._told = False

    def __call__(self, event: Event) -> None:
        """Follow the losses."""
        match event:
            case Validated() if not event.improved and event.step >= 2 * self._judged:
                self._judged = event.step  # all curves are read for it
                self._judge("running")
            case Finished():
                self._judge("finished")

    def _judge(self, state: State) -> None:
        if self._told:
            return
        if said := verdict.warning(read(self._path, state)):
            self._told = True
            self._notice(said)
