"""Calls that may hang: what comes of them."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, wait

import pytest

from seqkit.foundation import threads
from seqkit.foundation.threads import HangingError, call_with_timeout


def test_what_a_call_returns_or_raises_comes_through() -> None:
    def failing() -> None:
        raise TimeoutError("its own")

    assert call_with_timeout(10.0, lambda: 7) == call_with_timeout(None, lambda: 7) == 7
    for patience in (10.0, None):
        with pytest.raises(TimeoutError, match="its own"):
            call_with_timeout(patience, failing)


def test_a_call_that_hangs_is_left_behind() -> None:
    go_on = threading.Event()
    with pytest.raises(HangingError):
        call_with_timeout(0.05, go_on.wait)
    go_on.set()


def test_a_signal_that_comes_just_before_the_wait_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Python runs its handler once a wait is over: one without end would be that of the call.
    waits: list[float] = []
    go_on = threading.Event()

    def noted(answers: Sequence[Future[bool]], seconds: float) -> object:
        waits.append(seconds)
        if len(waits) == 2:
            go_on.set()
        return wait(answers, seconds)

    monkeypatch.setattr(threads, "wait", noted)
    assert call_with_timeout(None, go_on.wait)
    assert max(waits) <= 1
