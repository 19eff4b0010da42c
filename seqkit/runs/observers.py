"""What follows a training: each observer makes one kind of thing of its events.

A new one (a report, a logger) is a class with `__call__(event)`, and one line where the others
are put together.
"""

from collections.abc import Callable
from pathlib import Path

from seqkit.data.sound import pictures
from seqkit.foundation.console import Bar, Console
from seqkit.runs.events import Diverged, Event, Sampled, Stopped, Validating, describe, readings
from seqkit.training.events import Trained

Observer = Callable[[Event], object]


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
                self._readings = readings(event)
                self._bar.update(event.step, *self._readings, total=event.total_steps)
            case Validating():
                share = f"validating {event.symbols * 100 // event.total}%"
                self._bar.update(event.step, *self._readings[:1], share)
            case Stopped() | Diverged():
                return  # the command ends with these words
            case Sampled():
                self._console.notice("\n".join("    " + line for line in event.preview.split("\n")))
        if line := describe(event):
            self._console.notice(line)
