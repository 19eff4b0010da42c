"""Signals that ask a command to end: Ctrl-C, SIGTERM, SIGHUP and SIGUSR1."""

import contextlib
import signal
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
_LOOK_AGAIN = 0.02  # seconds
_Item = TypeVar("_Item")


@contextlib.contextmanager
def ended_by_signals(advice: str = "") -> "Iterator[Interrupts]":
    """What the block does may be ended by signals; `advice` says what to do then.

    Raises:
        StoppedError: one came.
        InterruptedRunError: Ctrl-C, with `advice`.
        KeyboardInterrupt: Ctrl-C without `advice`, or a signal heard by an outer block, which
            reports it.
    """
    interrupts = Interrupts()
    try:
        with interrupts:
            yield interrupts
    except KeyboardInterrupt as error:
        raise _ended_by(interrupts, advice) from error
    except Exception as error:
        own = isinstance(error, (SeqkitError, OSError, MemoryError))
        if not interrupts.raised or (own and not isinstance(error, ConfigError)):
            raise
        raise _ended_by(interrupts, advice) from error  # Hydra, or another library, made this of it


def _ended_by(interrupts: "Interrupts", advice: str) -> BaseException:
    """What a signal comes to."""
    if interrupts.received is None or (interrupts.received == signal.SIGINT and not advice):
        return KeyboardInterrupt()
    if interrupts.received == signal.SIGINT:
        return InterruptedRunError(f"interrupted: {advice}")
    told = advice or "what it wrote until then is whole"
    return StoppedError(f"stopped by {interrupts.received.name}: {told}")


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
        self.insisted = False
        """Whether another came a second or more after it."""
        self.raised = False
        """Whether it was raised in the midst of something."""
        self.due = False
        """Whether one is to be raised when `held`, or what must not be interrupted, is left."""
        self._at_once = at_once
        self._insisting_from = 0.0  # on the monotonic clock
        self._held = 0
        self._was_put_off = False  # whether it came where it could not be raised
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> "Interrupts":
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                if signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        if signal.SIGALRM in self._before:
            signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        if self.due and self._was_put_off:
            raise KeyboardInterrupt

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold signals back until the block has ended, and raise then what came."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if self.due and not self._held:
            self.due = False
            raise KeyboardInterrupt

    def each(self, items: Iterator[_Item]) -> Iterator[_Item]:
        """Hand on items within a `held` block; signals get through while the next one is made.

        One that comes ends the items, and is raised when the block has ended.
        """
        while True:
            held, self._held = self._held, 0
            try:
                if self.due:
                    return
                item = next(items)
            except StopIteration:
                return
            except KeyboardInterrupt:
                self.due = True
                return
            finally:
                self._held = held
            yield item

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.received is None:
            self.received = signal.Signals(number)
            self._insisting_from = time.monotonic() + _BOUNCE
            if not self._at_once:
                return
        elif time.monotonic() < self._insisting_from:
            return
        else:
            self.insisted = True
        self._raise(number, frame)

    def _raise(self, number: int, frame: FrameType | None) -> None:
        self.due = True
        if not self._held and (self.insisted or not self._put_off(frame)):
            self.due = False
            self.raised = True
            raise InsistedInterrupt if self.insisted else KeyboardInterrupt

    def _put_off(self, frame: FrameType | None) -> bool:
        """Look again soon, if what is raised here would come out as any error, or come out alone.

        The first is so within an import. The second is so between the end of a block and the
        `__exit__` of its generator: that would never hear of it, and only an outer block would.
        """
        between = frame is not None and frame.f_code.co_filename == contextlib.__file__
        while not between and frame is not None and not _imports(frame):
            frame = frame.f_back
        if frame is None:
            return False
        self._before.setdefault(signal.SIGALRM, signal.signal(signal.SIGALRM, self._raise))
        signal.setitimer(signal.ITIMER_REAL, _LOOK_AGAIN)
        self._was_put_off = True
        return True


def _imports(frame: FrameType) -> bool:
    """Whether it is one of Python's own import system."""
    return frame.f_code.co_filename.startswith("<frozen importlib")
