"""Tasks in processes of their own and calls that may hang: what comes of them, how they end."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from pathlib import Path

import pytest

from seqkit.foundation import workers
from seqkit.foundation.errors import DataError, DeviceError
from seqkit.foundation.workers import HangingError, call_with_timeout, share_out
from tests.conftest import environment

Watch = Callable[[int], None]


def multiplied(factor: int, number: int, watch: Watch) -> int:
    watch(number)
    return factor * number


def failing(factor: int, number: int, watch: Watch) -> int:
    if number == 2:
        raise DataError("number 2 is bad")
    return number


def killed(factor: int, number: int, watch: Watch) -> int:
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def own_number(folder: str, number: int, watch: Watch) -> int:
    """Say which process this is, and go on until it is ended."""
    Path(folder, str(os.getpid())).touch()
    if number:
        time.sleep(600)
    return os.getpid()


def has_ended(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def holds_back(process: int, number: int) -> bool:
    status = Path(f"/proc/{process}/status").read_text()
    blocked = int(status.partition("SigBlk:")[2].split()[0], 16)
    return bool(blocked >> (number - 1) & 1)


def wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(1200):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("it did not come to that")


@pytest.mark.parametrize("processes", [1, 2])
def test_all_tasks_are_done_and_counted(processes: int) -> None:
    counted: list[int] = []
    results = dict(share_out(multiplied, 3, range(6), processes, counted.append))
    assert results == {number: 3 * number for number in range(6)}
    assert sum(counted) == sum(range(6))


@pytest.mark.parametrize("processes", [1, 2])
def test_a_failure_is_raised_here(processes: int) -> None:
    with pytest.raises(DataError, match="number 2 is bad"):
        list(share_out(failing, 0, range(5), processes))


def test_a_process_that_is_killed_is_told() -> None:
    with pytest.raises(DeviceError, match="one of 2 processes was killed"):
        list(share_out(killed, 0, range(5), 2))


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
def test_processes_end_when_nobody_wants_more(tmp_path: Path) -> None:
    results = share_out(own_number, str(tmp_path), range(3), 2)
    next(results)
    results.close()  # type: ignore[attr-defined]
    started = [int(file.name) for file in tmp_path.iterdir()]
    assert started and all(map(has_ended, started))


@pytest.mark.thorough
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs Linux's /proc")
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_processes_end_with_their_parent(tmp_path: Path, how: signal.Signals) -> None:
    code = (
        "from tests.foundation import test_workers as t\n"
        f"list(t.share_out(t.own_number, {str(tmp_path)!r}, [1, 1, 1], 2))"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code],
        env=environment(),
        cwd=Path(__file__).parents[2],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    wait_until(lambda: len([*tmp_path.iterdir()]) == 2)
    assert all(holds_back(int(file.name), signal.SIGINT) for file in tmp_path.iterdir())
    if how == signal.SIGKILL:
        parent.send_signal(how)
    else:
        os.killpg(parent.pid, how)  # as a terminal does
    _, told = parent.communicate(timeout=60)
    started = [int(file.name) for file in tmp_path.iterdir()]
    assert told.count("Traceback") == (how == signal.SIGINT)  # the parent's own
    wait_until(lambda: all(map(has_ended, started)))


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

    def noted(answers: Sequence[Future[bool]], patience: float) -> object:
        waits.append(patience)
        if len(waits) == 2:
            go_on.set()
        return wait(answers, patience)

    monkeypatch.setattr(workers, "wait", noted)
    assert call_with_timeout(None, go_on.wait)
    assert max(waits) <= 1
