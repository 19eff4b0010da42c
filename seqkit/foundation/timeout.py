"""Calls that may hang."""

import math
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")
_LOOK = 0.5  # seconds


class HangingError(Exception):
    """A call did not return in time; a TimeoutError is one that the call itself raised."""


def within(patience: float | None, call: Callable[[], T]) -> T:
    """What a call returns in so many seconds, in a thread that is left behind if it hangs.

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
    left = math.inf if patience is None else patience
    while not wait([answer], min(left, _LOOK)).done:
        left -= _LOOK
        if left <= 0:
            raise HangingError
    return answer.result()
