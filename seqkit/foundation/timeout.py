"""Calls that may hang."""

import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import TypeVar

T = TypeVar("T")


class HangingError(Exception):
    """A call did not return in time; a TimeoutError is one that the call itself raised."""


def within(patience: float | None, call: Callable[[], T]) -> T:
    """What a call returns in so many seconds, in a thread that is left behind if it hangs.

    Signals are heard meanwhile, also where the call is one of C++. None waits for ever.

    Raises HangingError, and what the call raises.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(call())
        except BaseException as error:
            answer.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    if not wait([answer], patience).done:
        raise HangingError
    return answer.result()
