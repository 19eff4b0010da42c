"""What a person sees on stderr: notices and progress."""

import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, TextIO

from seqkit.foundation.wording import visible, visible_line

_LINE_EVERY = 10.0  # seconds between lines where there is no terminal
_LONGEST = 60  # characters of a title
Notice = Callable[[str], None]
"""Tells the user something, in a line: `Console.notice`."""


Progress = Callable[..., AbstractContextManager["Bar"]]
"""Shows something long while the block lasts, as `Console.progress` does."""


class Bar:
    """Something long that is under way: a title, and tqdm's bar from the first update on.

    The time before that is not judged: a first step takes longer than others.
    """

    def __init__(
        self, title: str, total: int = 0, completed: int = 0, unit: str = "",
        terminal: TextIO | None = None, say: Notice | None = None,
    ) -> None:  # fmt: skip
        """A total of 0 is not known yet; the unit of bytes is B.

        It is drawn on the terminal; without one, `say` writes a line of it now and then.
        """
        self._title, self._total, self._completed = visible_line(title)[:_LONGEST], total, completed
        self._terminal, self._say = terminal, say
        self._unit = {
            "unit": f" {unit}" if len(unit) > 1 else unit,
            "unit_scale": unit in ("B", "symbols"),
        }
        self._tqdm: Any = None
        self._begun = self._said = 0.0

    def add(self, count: int) -> None:
        """Show that so many more are completed."""
        self._completed += count
        self.update(self._completed)

    def update(self, completed: int, *readings: str, total: int | None = None) -> None:
        """Show how many are completed, with readings such as a loss; `total` where it changed."""
        self._total = self._total if total is None else total
        shown, now = visible_line(", ".join(readings)), time.monotonic()
        if self._terminal is not None:
            with contextlib.suppress(OSError, ValueError):  # nobody can read it any more
                if self._tqdm is None:
                    self._tqdm = self._drawn(self._terminal)
                self._tqdm.total = self._total or None
                self._tqdm.set_postfix_str(shown, refresh=False)
                self._tqdm.update(completed - self._tqdm.n)
        elif not self._begun:
            self._begun = self._said = now
        elif self._say is not None and now - self._said >= _LINE_EVERY:
            from tqdm.std import tqdm

            self._said, words = now, {"prefix": self._title, "postfix": shown, **self._unit}
            meter = tqdm.format_meter(
                completed, self._total or None, now - self._begun, initial=self._completed, **words
            )
            self._say(meter)

    def _drawn(self, terminal: TextIO) -> Any:
        from tqdm.std import tqdm  # which takes a while to import

        class Tqdm(tqdm):  # type: ignore[misc]
            monitor_interval = 0  # without a thread of its own

        self.clear()
        return Tqdm(
            desc=self._title, total=self._total or None, initial=self._completed, leave=False,
            miniters=1, dynamic_ncols=True, file=terminal, position=0, **self._unit,
        )  # fmt: skip

    def draw(self) -> None:
        """Show it on the terminal, below what was written meanwhile."""
        if self._tqdm is not None:
            self._tqdm.refresh()
        elif self._terminal is not None:
            put(self._terminal, f"{self._title} …")

    def clear(self) -> None:
        """Take it off the terminal."""
        if self._terminal is not None:
            put(self._terminal, "\r\x1b[K")

    def close(self) -> None:
        """End it."""
        if self._tqdm is not None:
            self._tqdm.close()


def put(stream: TextIO, text: str) -> None:
    """Write to stderr. It is no failure if nobody can read it any more."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()


@contextlib.contextmanager
def unseen(title: str, total: int = 0, completed: int = 0, unit: str = "") -> Iterator[Bar]:
    """Progress that nobody watches."""
    yield Bar(title)


class Console:
    """Writes to stderr, unless it is quiet. stdout carries the product alone."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        self._stream = None if quiet else sys.stderr  # None, too, if it was closed before
        dumb = os.environ.get("TERM", "dumb") in ("dumb", "unknown")
        animates = self._stream is not None and self._stream.isatty() and not dumb
        self._terminal = self._stream if animates else None
        self._bars: list[Bar] = []  # the last one is seen
        self._lock = threading.RLock()

    def notice(self, text: str) -> None:
        """One line that the user should know."""
        if self._stream is not None:
            with self._above_bar():
                put(self._stream, f"{visible(text)}\n")

    @contextlib.contextmanager
    def progress(
        self, title: str, total: int = 0, completed: int = 0, unit: str = ""
    ) -> Iterator[Bar]:
        """A line about something long, animated on a terminal; elsewhere one every ten seconds.

        It counts `total` things, of which some are done; without updates it is the title alone.
        """
        bar = Bar(title, total, completed, unit, self._terminal, self.notice)
        try:  # a signal may come as soon as it is drawn
            with self._above_bar():
                self._bars.append(bar)
            yield bar
        finally:
            with self._above_bar():
                self._bars = [other for other in self._bars if other is not bar]
                bar.close()

    @contextlib.contextmanager
    def _above_bar(self) -> Iterator[None]:
        """Take the bar off the terminal for the block, and show the then last one after it."""
        with self._lock:
            if self._bars:
                self._bars[-1].clear()
            yield
            if self._bars:
                self._bars[-1].draw()
