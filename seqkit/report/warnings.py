"""A training says once when it stands badly: when it gets worse, or at its end."""

from collections.abc import Callable
from pathlib import Path

from seqkit.report import verdict
from seqkit.runs.events import Event, Finished
from seqkit.runs.record import State, read
from seqkit.training.events import Validated


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
