"""Signals that ask a command to end: Ctrl-C, SIGTERM, SIGHUP and SIGUSR1."""

import signal
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from seqkit.errors import StoppedError

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1")
_BOUNCE = 1.0  # seconds; a Ctrl-C sooner after the first is the same one, not a second
_Item = TypeVar("_Item")


@contextmanager
def ended_by_signals() -> "Iterator[Interrupts]":
    """What the block does may be ended by signals.

    Raises:
        StoppedError: one came; Ctrl-C is raised as it is.
    """
    interrupts = Interrupts()
    try:
        with interrupts:
            yield interrupts
    except KeyboardInterrupt as error:
        if interrupts.received in (None, signal.SIGINT):
            raise
        name = interrupts.received.name
        raise StoppedError(f"stopped by {name}: what it wrote until then is whole") from error


class Interrupts:
    """Raises KeyboardInterrupt for the first signal, only where the work can be interrupted.

    Signals are heard inside its `with` block. Those that come after the first change nothing: what
    is saved because of it is not disturbed. Signals that this system lacks, and those that are
    ignored (nohup means it), stay as they are; so do all of them outside the main thread.
    """

    def __init__(self, at_once: bool = True) -> None:
        """Without `at_once` a signal is only noted in `received`, until a Ctrl-C insists.

        One within a second of the first Ctrl-C does not: it may be a key that bounced.
        """
        self.received: signal.Signals | None = None
        """The first signal."""
        self._at_once = at_once
        self._first_ctrl_c: float | None = None
        self._held = 0
        self._due = False  # a signal is to be raised when `held` is left
        self._raised = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)):
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold signals back until the block has ended, and raise then what came."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self._due and not self._held:
            raise KeyboardInterrupt

    def each(self, items: Iterator[_Item]) -> Iterator[_Item]:
        """Hand on items within a `held` block; signals get through while the next one is made.

        One that comes ends the items, and is raised when the block has ended.
        """
        thrown = False
        while True:
            held, self._held = self._held, 0
            try:
                if self._due and not thrown and isinstance(items, Generator):
                    thrown = True  # it may still hand on what it holds back
                    item = items.throw(KeyboardInterrupt())
                elif self._due and not thrown:
                    return
                else:
                    item = next(items)
            except StopIteration:
                return
            except KeyboardInterrupt:
                self._due = True
                if thrown:
                    return
                continue
            finally:
                self._held = held
            yield item

    def _handle(self, number: int, frame: FrameType | None) -> None:
        first = self.received is None
        if first:
            self.received = signal.Signals(number)
        insists = not first and number == signal.SIGINT and not self._bounced()
        if number == signal.SIGINT and self._first_ctrl_c is None:
            self._first_ctrl_c = time.monotonic()
        if self._raised or not (first if self._at_once else insists):
            return
        if self._held:
            self._due = True
        else:
            self._raised = True
            raise KeyboardInterrupt

    def _bounced(self) -> bool:
        """Whether a Ctrl-C came just before, as when a key bounces or is held down."""
        return self._first_ctrl_c is not None and time.monotonic() < self._first_ctrl_c + _BOUNCE
