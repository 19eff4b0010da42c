"""Work beside this thread: calls that may hang."""

import math
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

_HEAR = 0.5  # seconds at most until a signal is heard
T = TypeVar("T")


class HangingError(Exception):
    """A call did not return in time; a TimeoutError is one that the call itself raised."""


def call_with_timeout(timeout: float | None, call: Callable[[], T]) -> T:
    """What a call returns; if it takes more than `timeout` seconds, its thread is left behind.

    Signals are heard meanwhile, also where the call is one of C++: at the latest after half a
    second, since a wait without end misses one that comes just before it. None waits for ever.

    Raises HangingError, and what the call raises.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    left = math.inf if timeout is None else timeout
    while not wait([answer], min(left, _HEAR)).done:
        left -= _HEAR
        if left <= 0:
            raise HangingError
    return answer.result()
