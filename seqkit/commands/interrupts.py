"""Signals that ask a command to end: Ctrl-C, SIGTERM, SIGHUP and SIGUSR1."""

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any, TypeVar

from seqkit.foundation.errors import (
    ConfigError,
    InsistedInterrupt,
    InterruptedRunError,
    SeqkitError,
    StoppedError,
)

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
"""Those that ask a command to end."""
_BOUNCE = 1.0  # seconds; a signal sooner after the first is the same wish, not a second one
_Item = TypeVar("_Item")


@contextlib.contextmanager
def ended_by_signals(advice: str = "") -> "Iterator[Interrupts]":
    """What the block does may be ended by signals; `advice` says what to do then.

    Raises:
        StoppedError: one came.
        InterruptedRunError: Ctrl-C, with `advice`.
        KeyboardInterrupt: Ctrl-C without `advice`.
    """
    interrupts = Interrupts()
    try:
        with interrupts:
            yield interrupts
    except (KeyboardInterrupt, Exception) as error:
        expected = isinstance(error, (SeqkitError, OSError, MemoryError))
        if interrupts.received is None or (expected and not isinstance(error, ConfigError)):
            raise
        # If it is no KeyboardInterrupt, Hydra or another library made something else of that.
        of_key = interrupts.received is signal.SIGINT
        if of_key and not advice:
            raise KeyboardInterrupt from error
        ended = "interrupted" if of_key else f"stopped by {interrupts.received.name}"
        advice = advice or "the files that it wrote are whole"
        raise interrupts.failure(f"{ended}: {advice}") from error


class Interrupts:
    """Raises KeyboardInterrupt for a signal, only where the work can be interrupted.

    Signals are heard inside its `with` block. Those within a second of the first change nothing: a
    key bounces, and schedulers send several. A later one insists, and raises at once. Those that
    are ignored (nohup means it) stay as they are; so do all of them outside the main thread.
    """

    def __init__(self, at_once: bool = True) -> None:
        """Without `at_once` the first signal is only noted in `received`."""
        self.received: signal.Signals | None = None
        """The first signal."""
        self._at_once = at_once
        self._insisting_from = 0.0  # on the monotonic clock
        self._before: dict[signal.Signals, Any] = {}
        self._unraisable = sys.unraisablehook

    def failure(self, message: str) -> SeqkitError:
        """What to raise for the first signal."""
        of_key = self.received is signal.SIGINT
        return InterruptedRunError(message) if of_key else StoppedError(message)

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._handle)
            sys.unraisablehook = self._raise_later
        return self

    def __exit__(self, *error: object) -> None:
        sys.unraisablehook = self._unraisable
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold signals back until the block has ended, and raise then what came."""
        self._at_once = False
        try:
            yield
        finally:
            self._at_once = True
        if self.received is not None:
            raise KeyboardInterrupt

    def each(self, items: Iterator[_Item]) -> Iterator[_Item]:
        """Hand on items within a `held` block; signals get through while the next one is made.

        One that comes ends the items, and is raised when the block has ended. Without such a block
        it is raised at once.
        """
        if self._at_once:
            yield from items
            return
        while self.received is None:
            self._at_once = True
            try:
                item = next(items)
            except (StopIteration, KeyboardInterrupt):
                return
            finally:
                self._at_once = False
            yield item

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is None:
            self._insisting_from = time.monotonic() + _BOUNCE  # first: another may come meanwhile
            self.received = signal.Signals(number)
            if self._at_once:
                raise KeyboardInterrupt
        elif time.monotonic() >= self._insisting_from:
            raise InsistedInterrupt

    def _raise_later(self, lost: "sys.UnraisableHookArgs") -> None:
        """Send a signal again that came within a `__del__`, where Python drops all exceptions."""
        if self.received is None or not issubclass(lost.exc_type, KeyboardInterrupt):
            self._unraisable(lost)
            return
        number, self.received = self.received, None
        threading.Timer(0.01, signal.raise_signal, (number,)).start()
