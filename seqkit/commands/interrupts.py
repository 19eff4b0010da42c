"""Signals that ask a command to come to an end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def on_signals(names: list[str], handle: Callable[[int], None]) -> Iterator[None]:
    """Call `handle` with the number when one of these comes: SIGINT, SIGTERM, SIGHUP.

    Signals that this system lacks, and those that are ignored (nohup means it), stay as they are;
    so do all of them outside the main thread.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    known = [getattr(signal, name, None) for name in names]
    wanted = [number for number in known if number and signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, lambda n, _: handle(n)) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
