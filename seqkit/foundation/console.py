"""What a person sees on stderr: notices and progress."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol, TextIO

from seqkit.foundation.escaping import visible, visible_line
from seqkit.foundation.progress_line import ProgressLine

_LINE_EVERY = 10.0  # seconds between lines where there is no terminal
_DRAW_EVERY = 0.05  # seconds at least between two drawings of what changed
_REDRAW_EVERY = 0.5  # seconds; a terminal may be resized at any time
_COLUMNS = 80  # of a terminal that does not say
_ERASE = "\r\x1b[J"  # the row of the cursor, and all below it


class Bar:
    """Something long that is under way."""

    def __init__(
        self, line: ProgressLine, show: Callable[[], None], every: float = _DRAW_EVERY
    ) -> None:
        """`show` shows the line, at updates that are at least so many seconds apart."""
        self._line = line
        self._show = show
        self._every = every
        self._shown = time.monotonic()

    def update(
        self,
        completed: int,
        *readings: str,
        total: int | None = None,
        important: bool = False,
        timed: bool = True,
    ) -> None:
        """Show where it stands.

        Args:
            completed: of the total.
            readings: what to show beside it, in order of importance.
            total: where that changed.
            important: show it, however short the time since the last update was.
            timed: whether the time left can be told from how fast it went so far.
        """
        lines = [" ".join(visible_line(text).split()) for text in readings]
        self._line.update(completed, lines, total, timed=timed)
        if important or time.monotonic() - self._shown >= self._every:
            self._shown = time.monotonic()
            self._show()


class Progress(Protocol):
    """Shows something long while the block lasts: `Console.progress`, or `unseen`."""

    def __call__(
        self, title: str, total: int = 0, completed: int = 0, unit: str = ""
    ) -> AbstractContextManager[Bar]:
        """A bar for `total` things, of which some are done; without a total, the time so far."""


@contextlib.contextmanager
def unseen(title: str, total: int = 0, completed: int = 0, unit: str = "") -> Iterator[Bar]:
    """Progress that nobody watches."""
    yield Bar(ProgressLine(title, total, completed, unit), lambda: None)


class Console:
    """Writes to stderr, when quiet only failures. stdout carries the product alone."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._stream = None if quiet else sys.stderr  # None, too, if it was closed before
        self._shown: ProgressLine | None = None
        self._lock = threading.RLock()

    def notice(self, text: str) -> None:
        """One line that the user should know. It is no failure if nobody can read it any more."""
        with self._lock:
            erase = _ERASE if self._shown else ""
            self._write(f"{erase}{visible(text)}\n{self._drawn()}")

    def failure(self, text: str) -> None:
        """One line about a part of the work that failed while the rest goes on."""
        if self.quiet:
            Console().notice(text)
        else:
            self.notice(text)

    @contextlib.contextmanager
    def progress(
        self, title: str, total: int = 0, completed: int = 0, unit: str = ""
    ) -> Iterator[Bar]:
        """A line about something long, animated on a terminal only: see ProgressLine.

        There it is drawn at once, and without updates shows the time that has passed. Elsewhere
        lines come with updates alone.
        """
        line = ProgressLine(visible_line(title), total, completed, unit)
        if not self._animates():
            yield Bar(line, lambda: self.notice(line.whole()), _LINE_EVERY)
            return
        before, self._shown = self._shown, line
        ended = threading.Event()
        painter = threading.Thread(target=self._paint, args=(ended,), daemon=True)
        painter.start()
        try:
            self.redraw()
            yield Bar(line, self.redraw)
        finally:
            ended.set()
            with self._lock:
                self._shown = before
                self._write(_ERASE + self._drawn())

    def redraw(self) -> None:
        """Draw the line that is shown anew, in as many columns as there are now."""
        with self._lock:
            if self._shown:
                self._write(self._drawn())

    def _paint(self, ended: threading.Event) -> None:
        while not ended.wait(_REDRAW_EVERY):
            self.redraw()

    def _animates(self) -> bool:
        if self._stream is None or os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
            return False
        return self._stream.isatty()

    def _drawn(self) -> str:
        """The line that is shown, ready to be written over.

        The cursor goes back to its beginning: where a terminal that became narrower has broken the
        line into several rows, it stands in the first of them, and the next drawing clears all.
        """
        if self._shown is None or self._stream is None:
            return ""
        return f"\r{self._shown.fitted(_columns(self._stream) - 1)}\x1b[J\r"

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # nobody reads it any more
            self._stream = None


def _columns(terminal: TextIO) -> int:
    columns = 0
    with contextlib.suppress(OSError, ValueError):
        columns = os.get_terminal_size(terminal.fileno()).columns
    return columns or _COLUMNS
