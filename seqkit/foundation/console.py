"""What a person sees on stderr: notices and progress."""

import contextlib
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from seqkit.foundation.wording import columns_of, duration, visible, visible_line

_LINE_EVERY = 10.0  # seconds between lines where there is no terminal
_DRAW_EVERY = 0.05  # seconds at least between two drawings of what changed
_REDRAW_EVERY = 0.5  # seconds; a terminal may be resized at any time
_COLUMNS = 80  # of a terminal that does not say
_MARKS = 60  # moments that are remembered to judge the speed by, a second apart at least
_SECONDS_TO_JUDGE = 1.0  # before the time left is told
_GRAPHIC = 20  # columns
_WIDE = 70  # columns of a line that has room for it
_MAIN = 2  # readings that are as important as the time left
_ERASE = "\r\x1b[J"  # the row of the cursor, and all below it


class Bar:
    """Something long that is under way: its count, readings such as a loss, and the time left."""

    def __init__(
        self,
        title: str,
        total: int = 0,
        completed: int = 0,
        unit: str = "",
        show: Callable[[], None] = lambda: None,
        every: float = _DRAW_EVERY,
    ) -> None:
        """Begin a line.

        Args:
            title: what is under way.
            total: 0 as long as nobody knows it; while `completed` is 0 as well, nothing is counted
                but the seconds.
            completed: of the total, before.
            unit: of the speed, which is shown a second; of MB, bytes are counted.
            show: shows the line.
            every: seconds at least between two calls of it.
        """
        self._title, self._unit = visible_line(title), unit
        self._total, self._completed = total, completed
        self._show, self._every = show, every
        self._readings: Sequence[str] = ()
        self._marks: deque[tuple[float, int]] = deque(maxlen=_MARKS)  # (time, completed)
        self._speed = 0.0  # a second; 0 as long as it is not known
        self._end: float | None = None  # by the monotonic clock
        self._begun = self._shown = time.monotonic()

    def update(
        self,
        completed: int,
        *readings: str,
        total: int | None = None,
        important: bool = False,
        timed: bool = True,
    ) -> None:
        """Show where it stands.

        The time before the first update is not judged: a first step takes longer than others.

        Args:
            completed: of the total.
            readings: what to show beside it, in order of importance.
            total: where that changed.
            important: show it, however short the time since the last update was.
            timed: whether the time left can be told from how fast it went so far.
        """
        now = time.monotonic()
        self._completed = completed
        self._readings = [" ".join(visible_line(text).split()) for text in readings]
        self._total = self._total if total is None else total
        if timed:
            self._judge(now)
        else:
            self._end = None
        if important or now - self._shown >= self._every:
            self._shown = now
            self._show()

    def whole(self) -> str:
        """The line at its full length."""
        return "  ".join(self._fields())

    def fitted(self, width: int) -> str:
        """The line in at most `width` columns: what comes last is left out first."""
        fields = self._fields()
        done = min(_GRAPHIC * self._completed // (self._total or 1), _GRAPHIC)
        drawn = self._total and width >= _WIDE
        graphic = f"[{'#' * done}{'.' * (_GRAPHIC - done)}] " if drawn else ""
        lines = (graphic + "  ".join(fields[:count]) for count in range(len(fields), 0, -1))
        return next((line for line in lines if columns_of(line) <= width), self._count()[:width])

    def _judge(self, now: float) -> None:
        """How fast it went so far, and when it will end."""
        begun, first = self._marks[0] if self._marks else (now, self._completed)
        if self._completed > first and now - begun >= _SECONDS_TO_JUDGE:
            self._speed = (self._completed - first) / (now - begun)
            left = (self._total - self._completed) / self._speed
            self._end = now + left if self._total else None
        if not self._marks or now - self._marks[-1][0] >= _SECONDS_TO_JUDGE:
            self._marks.append((now, self._completed))

    def _fields(self) -> list[str]:
        if not self._completed and not self._total:
            return [f"{self._title}  {duration(time.monotonic() - self._begun)}"]
        fields = [f"{self._title} {self._count()}", *self._readings[:_MAIN]]
        if self._unit and self._speed:
            fields.append(f"{self._amount(self._speed)} {self._unit}/s")
        if self._end is not None:
            fields.append(f"{duration(max(self._end - time.monotonic(), 0.0))} left")
        return [*fields, *self._readings[_MAIN:]]

    def _count(self) -> str:
        both = [self._completed, self._total] if self._total else [self._completed]
        return "/".join(self._amount(n) if self._unit == "MB" else str(n) for n in both)

    def _amount(self, number: float) -> str:
        return f"{number / 1e6:,.1f}" if self._unit == "MB" else f"{number:,.0f}"


Notice = Callable[[str], None]
"""Tells the user something, in a line: `Console.notice`."""


class Progress(Protocol):
    """Shows something long while the block lasts: `Console.progress`, or `unseen`."""

    def __call__(
        self, title: str, total: int = 0, completed: int = 0, unit: str = ""
    ) -> AbstractContextManager[Bar]:
        """A bar for `total` things, of which some are done; without a total, the time so far."""


@contextlib.contextmanager
def unseen(title: str, total: int = 0, completed: int = 0, unit: str = "") -> Iterator[Bar]:
    """Progress that nobody watches."""
    yield Bar(title, total, completed, unit)


class Console:
    """Writes to stderr, unless it is quiet. stdout carries the product alone."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._stream = None if quiet else sys.stderr  # None, too, if it was closed before
        self._shown: Bar | None = None
        self._held: list[str] | None = None
        self._lock = threading.RLock()

    def notice(self, text: str) -> None:
        """One line that the user should know. It is no failure if nobody can read it any more."""
        with self._lock:
            if self._held is not None:
                self._held.append(text)
                return
            erase = _ERASE if self._shown else ""
            self._write(f"{erase}{visible(text)}\n{self._drawn()}")

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Give the notices of the block after it: within it half a line of text may stand there."""
        self._held = held = list[str]()
        try:
            yield
        finally:
            self._held = None
            for text in held:
                self.notice(text)

    @contextlib.contextmanager
    def progress(
        self, title: str, total: int = 0, completed: int = 0, unit: str = ""
    ) -> Iterator[Bar]:
        """A line about something long, animated on a terminal only.

        There it is drawn at once, and without updates shows the time that has passed. Elsewhere
        lines come with updates alone.
        """
        bar = Bar(title, total, completed, unit, self.redraw)
        if not self._animates():
            bar = Bar(title, total, completed, unit, lambda: self.notice(bar.whole()), _LINE_EVERY)
            yield bar
            return
        before, self._shown = self._shown, bar
        ended = threading.Event()
        painter = threading.Thread(target=self._paint, args=(ended,), daemon=True)
        painter.start()
        try:
            self.redraw()
            yield bar
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
        columns = _COLUMNS
        with contextlib.suppress(OSError, ValueError):  # closed by now
            columns = os.get_terminal_size(self._stream.fileno()).columns or _COLUMNS
        return f"\r{self._shown.fitted(columns - 1)}\x1b[J\r"

    def _write(self, text: str) -> None:
        if self._stream is None:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # nobody reads it any more
            self._stream = None
