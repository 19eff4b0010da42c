"""A call that hangs is told from one that fails by itself, as with a time limit of its own."""

import threading
from collections.abc import Sequence
from concurrent.futures import Future, wait

import pytest

from seqkit.foundation import timeout
from seqkit.foundation.timeout import HangingError, within


def test_what_a_call_returns_or_raises_comes_through() -> None:
    def failing() -> None:
        raise TimeoutError("its own")

    assert within(10.0, lambda: 7) == within(None, lambda: 7) == 7
    for patience in (10.0, None):
        with pytest.raises(TimeoutError, match="its own"):
            within(patience, failing)


def test_a_call_that_hangs_is_left_behind() -> None:
    go_on = threading.Event()
    with pytest.raises(HangingError):
        within(0.05, go_on.wait)
    go_on.set()


def test_a_signal_that_comes_just_before_the_wait_is_heard(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Python runs its handler once a wait is over: one without end would be that of the call.
    waits: list[float] = []
    go_on = threading.Event()

    def noted(answers: Sequence[Future[bool]], patience: float) -> object:
        waits.append(patience)
        if len(waits) == 2:
            go_on.set()
        return wait(answers, patience)

    monkeypatch.setattr(timeout, "wait", noted)
    assert within(None, go_on.wait)
    assert max(waits) <= 1
