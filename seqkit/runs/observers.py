"""What follows a training: each observer makes one kind of thing of its events.

A new one (a report, a logger) is a class with `__call__(event)`, and one line where the others
are put together.
"""

import json
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from seqkit.data.sound import pictures
from seqkit.foundation.console import Bar, Console
from seqkit.generation.medium import Medium, save_sample
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.events import Diverged, Event, Sampled, Stopped, Validating, describe, readings
from seqkit.runs.folder import RunFolder
from seqkit.runs.saver import Saver
from seqkit.symbols import Integers
from seqkit.training.events import CheckpointDue, SampleDue, Stepped, Trained, Validated

Observer = Callable[[Event], object]


class Observers:
    """Some observers, told of events in turn."""

    def __init__(self) -> None:
        self._observers: list[Observer] = []
        self._waiting: deque[Event] = deque()

    def add(self, observers: Iterable[Observer]) -> None:
        """Tell these, too, after those that are here."""
        self._observers += observers

    def tell(self, event: Event) -> None:
        """Tell all of an event; what one of them tells meanwhile comes after it."""
        self._waiting.append(event)
        if len(self._waiting) > 1:
            return
        try:
            while self._waiting:
                for observer in self._observers:
                    observer(self._waiting[0])
                self._waiting.popleft()
        finally:
            self._waiting.clear()  # after a failure, too, of which the others are told


@dataclass(frozen=True)
class Records:
    """metrics.jsonl: a line for each report and validation; `log`: what a person is told."""

    folder: RunFolder

    def __call__(self, event: Event) -> None:
        """Keep what docs/reference/files.md says of the event, and its line with the time."""
        match event:
            case Trained():
                self._record("train", event, "total_steps")
            case Validated():
                self._record("validate", event, "improved", "best_loss")
        if line := describe(event):
            self.folder.append(self.folder.log, f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}")

    def _record(self, name: str, event: Trained | Validated, *left_out: str) -> None:
        values = {key: value for key, value in vars(event).items() if key not in left_out}
        self.folder.append(self.folder.metrics, json.dumps({"event": name, **values}))


@dataclass(frozen=True)
class Checkpoints:
    """checkpoints/: `best` after each improvement, `last` and `previous` when it is time.

    saver: writes them.
    training_state: has all that resuming needs.
    evaluated: has the weights of evaluation.
    validates: whether the training does; if not, its last checkpoint is its best one.
    """

    saver: Saver
    training_state: Callable[[], Checkpoint]
    evaluated: Callable[[], Checkpoint]
    validates: bool

    def __call__(self, event: Event) -> None:
        """Save what is due. Raises OutputError, also if what was due before is not written."""
        match event:
            case Validated(improved=True):
                self.saver.save_best(self.evaluated())
            case CheckpointDue():
                self.saver.save(self.training_state())
                if not self.validates:
                    self.saver.save_best(self.evaluated())
            case Stepped():
                self.saver.check()


@dataclass(frozen=True)
class Samples:
    """samples/: what the network would write, or how it would sound, with its picture, by now.

    folder: of the run.
    medium: that of the samples.
    generate: makes a short sample's symbols (N,).
    tell: called with each that was written.
    notice: called with why one failed.
    judge: says how good a sample's symbols are, or nothing.
    """

    folder: RunFolder
    medium: Medium
    generate: Callable[[], Integers]
    tell: Observer
    notice: Callable[[str], None]
    judge: Callable[[Integers], str]

    def __call__(self, event: Event) -> None:
        """Write a sample; one that fails is told, and ends no training."""
        if not isinstance(event, SampleDue):
            return
        try:
            symbols = self.generate()
            self.folder.check_own()
            stem = self.folder.samples / f"step_{event.step:07}"
            file = save_sample(self.medium, symbols, stem)
            preview = self.medium.preview(symbols, file)
            judgement = self.judge(symbols)
        except Exception as error:
            self.notice(f"no sample at step {event.step}: {error}")
        else:
            if file.suffix == ".wav":
                draw(file, self.notice)
            self.tell(Sampled(event.step, file, preview, judgement))


def draw(file: Path, notice: Callable[[str], None]) -> None:
    """Draw the waveform and the mel spectrogram of a sample of sound beside it.

    A picture that fails is told, and ends no training.
    """
    try:
        pictures.draw_file(file)
    except Exception as error:
        notice(f"no picture of {file}: {error}")


class ProgressBar:
    """stderr: a bar, and a line for whatever is worth one."""

    def __init__(self, console: Console, bar: Bar) -> None:
        self._console = console
        self._bar = bar
        self._readings: list[str] = []

    def __call__(self, event: Event) -> None:
        """Show the event."""
        match event:
            case Trained():
                first, self._readings = event.step == 1, readings(event)
                self._bar.update(
                    event.step, *self._readings, total=event.total_steps, important=first
                )
            case Validating():
                share = f"validating {event.symbols * 100 // event.total}%"
                self._bar.update(event.step, *self._readings[:1], share, timed=False)
            case Stopped() | Diverged():
                return  # the command ends with these words
            case Sampled():
                self._console.notice("\n".join("    " + line for line in event.preview.split("\n")))
        if line := describe(event):
            self._console.notice(line)
