"""What a person sees on stderr: notices and progress."""

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, Protocol, TextIO

from seqkit.foundation.wording import visible, visible_line

_LINE_EVERY = 10.0  # seconds between lines where there is no terminal
_LONGEST = 60  # characters of a title
_ERASE = "\r\x1b[K"
Notice = Callable[[str], None]
"""Tells the user something, in a line: `Console.notice`."""


class Progress(Protocol):
    """Shows something long while the block lasts: `Console.progress`, or `unseen`."""

    def __call__(
        self, title: str, total: int = 0, completed: int = 0, unit: str = ""
    ) -> AbstractContextManager["Bar"]:
        """A bar for `total` things, of which some are done; without updates, the title alone."""


class Stderr:
    """stderr, animated on a terminal; elsewhere whatever tqdm draws becomes a line.

    It is no failure if nobody can read it any more.
    """

    def __init__(self, stream: TextIO) -> None:
        dumb = os.environ.get("TERM", "dumb") in ("dumb", "unknown")
        self._stream = stream
        self.animated = stream.isatty() and not dumb
        self.encoding, self.fileno = stream.encoding, stream.fileno

    def write(self, text: str) -> None:
        """Write what tqdm draws."""
        if self.animated:
            self.put(text)
        elif line := text.strip():
            self.put(f"{line}\n")

    def put(self, text: str) -> None:
        """Write a text as it is."""
        with contextlib.suppress(OSError, ValueError):
            self._stream.write(text)
            self._stream.flush()

    def flush(self) -> None:
        """Nothing is held back."""


class Bar:
    """Something long that is under way: a title, and tqdm's bar from the first update on.

    The time before that is not judged: a first step takes longer than others.
    """

    def __init__(
        self, title: str, total: int = 0, completed: int = 0, unit: str = "",
        file: Stderr | None = None,
    ) -> None:  # fmt: skip
        """Args:
        title: names what is under way.
        total: 0 as long as nobody knows it.
        completed: of the total, before.
        unit: what is counted; B for bytes.
        file: where it is shown; None for nowhere.
        """
        self._title, self._unit, self._file = visible_line(title)[:_LONGEST], unit, file
        self._total, self._completed = total, completed
        self._tqdm: Any = None

    def update(self, completed: int, *readings: str, total: int | None = None) -> None:
        """Show how many are completed, with readings such as a loss; `total` where it changed."""
        if self._file is None:
            return
        if self._tqdm is None:
            self._begin(self._file)
        self._tqdm.total = self._tqdm.total if total is None else total or None
        self._tqdm.set_postfix_str(visible_line(", ".join(readings)), refresh=False)
        self._tqdm.update(completed - self._tqdm.n)

    def _begin(self, file: Stderr) -> None:
        from tqdm.std import tqdm  # which takes a while to import

        class Tqdm(tqdm):  # type: ignore[misc]
            monitor_interval = 0  # without a thread of its own

        every = 0.1 if file.animated else _LINE_EVERY
        self.clear()
        self._tqdm = Tqdm(
            desc=self._title, total=self._total or None, initial=self._completed, leave=False,
            unit=f" {self._unit}" if len(self._unit) > 1 else self._unit, miniters=1,
            unit_scale=self._unit in ("B", "symbols"), mininterval=every, position=0,
            delay=0 if file.animated else every, dynamic_ncols=file.animated, file=file,
        )  # fmt: skip

    def draw(self) -> None:
        """Show it on a terminal, below what was written meanwhile."""
        if self._file is None or not self._file.animated:
            return
        if self._tqdm is None:
            self._file.put(f"{self._title} …")
        else:
            self._tqdm.refresh()

    def clear(self) -> None:
        """Take it off a terminal."""
        if self._file is not None and self._file.animated:
            self._file.put(_ERASE)

    def close(self) -> None:
        """End it."""
        if self._tqdm is not None:
            self._tqdm.close()


@contextlib.contextmanager
def unseen(title: str, total: int = 0, completed: int = 0, unit: str = "") -> Iterator[Bar]:
    """Progress that nobody watches."""
    yield Bar(title)


class Console:
    """Writes to stderr, unless it is quiet. stdout carries the product alone."""

    def __init__(self, quiet: bool = False) -> None:
        self.quiet = quiet
        closed = quiet or sys.stderr is None
        self._file = None if closed else Stderr(sys.stderr)
        self._bars: list[Bar] = []  # the last one is seen
        self._held: list[str] | None = None
        self._lock = threading.RLock()

    def notice(self, text: str) -> None:
        """One line that the user should know."""
        with self._lock:
            if self._held is not None:
                self._held.append(text)
            elif self._file is not None:
                with self._above_bar():
                    self._file.put(f"{visible(text)}\n")

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
        """A line about something long, animated on a terminal; elsewhere one every ten seconds."""
        bar = Bar(title, total, completed, unit, self._file)
        with self._above_bar():
            self._bars.append(bar)
        try:
            yield bar
        finally:
            with self._above_bar():
                self._bars.remove(bar)
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
