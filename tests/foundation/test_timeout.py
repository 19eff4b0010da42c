"""A call that hangs is told from one that fails by itself, as with a time limit of its own."""

import threading

import pytest

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
