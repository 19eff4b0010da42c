"""PyTorch takes no more threads than there are cores free."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from seqkit.foundation import threads
from seqkit.foundation.threads import SharedCores, fitting_threads

_LOOP = """
import os, subprocess, sys
import torch
from seqkit.foundation import threads
from seqkit.foundation.threads import SharedCores

cores, given, looks = len(os.sched_getaffinity(0)), sys.argv[1], int(sys.argv[2])
torch.set_num_threads(max(cores, 2))
torch.use_deterministic_algorithms(given == "deterministic")
threads._EVERY = 0.05
most = torch.get_num_threads()
a = torch.ones(300, 300)
busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
seen = {most}
try:
    with SharedCores(torch.device("cuda", 0) if given == "gpu" else torch.device("cpu")) as shared:
        for _ in range(looks):
            shared.adapt()
            seen.add(torch.get_num_threads())
            if min(seen) == 1:
                break
            a @ a
finally:
    for process in busy:
        process.kill()
print(min(seen) < most, torch.get_num_threads() == most)
"""


@pytest.mark.parametrize(
    ("now", "computed", "waited", "idle", "fitting"),
    [
        (2, 1.98, 0.02, 0.0, 2),  # alone
        (2, 1.23, 0.73, 0.0, 1),  # beside one busy program
        (2, 0.98, 0.98, 0.0, 1),  # beside two
        (1, 0.70, 0.30, 0.0, 1),  # it never goes below one
        (1, 1.00, 0.00, 0.1, 1),  # the other core is in use
        (1, 1.00, 0.00, 1.0, 2),  # and is free again
        (16, 12.9, 3.08, 0.0, 9),  # four of 16 cores are busy
        (16, 8.0, 8.0, 0.0, 1),
        (9, 9.0, 0.00, 3.0, 12),
        (2, 2.0, 0.00, 62.0, 4),  # step by step
        (2, 1.70, 0.25, 0.0, 2),  # a little of everything is left alone
    ],
)
def test_threads_fit_the_cores_that_are_free(
    now: int, computed: float, waited: float, idle: float, fitting: int
) -> None:
    assert fitting_threads(now, computed, waited, idle) == fitting


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how its cores are used")
@pytest.mark.parametrize(
    ("given", "variables", "fewer"),
    [
        ("free", {}, True),
        ("deterministic", {}, False),
        ("free", {"OMP_WAIT_POLICY": "passive"}, False),  # what the user set is kept
    ],
)
def test_busy_programs_get_their_cores(given: str, variables: dict[str, str], fewer: bool) -> None:
    environment = {**os.environ, **variables}
    environment.pop("OMP_NUM_THREADS", None)
    done = subprocess.run(
        [sys.executable, "-c", _LOOP, given, "20000" if fewer else "200"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(fewer), "True"]


@pytest.fixture
def threads_to_spare(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A PyTorch with four threads, where this process may use one core."""
    for name in threads._SET_BY_USER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads, "own_cores", lambda: 1)
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield 4
    torch.set_num_threads(before)


def test_loops_that_run_at_the_same_time_leave_all_threads_behind(threads_to_spare: int) -> None:
    outer, inner = SharedCores(torch.device("cpu")), SharedCores(torch.device("cpu"))
    outer.__enter__()
    inner.__enter__()
    assert torch.get_num_threads() == 1
    outer.__exit__(None, None, None)  # as generators end that are read in turns
    inner.__exit__(None, None, None)
    assert torch.get_num_threads() == threads_to_spare


def test_a_system_that_tells_nothing_keeps_its_threads(
    threads_to_spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads._Usage, "now", lambda: None)
    with SharedCores(torch.device("cpu")) as cores:
        cores.adapt()
        assert torch.get_num_threads() == threads_to_spare
    assert torch.get_num_threads() == threads_to_spare


def test_what_keeps_its_threads_takes_the_own_cores_that_idle(
    threads_to_spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "own_cores", lambda: 16)  # of 64, on which 60 tasks run
    looks = iter([threads._Usage(0.0, 0.0, 0.0, 0.0), threads._Usage(1.0, 0.0, 0.0, 2.9)])
    monkeypatch.setattr(threads._Usage, "now", lambda: next(looks))
    assert threads.lasting_threads() == 3
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    assert threads.lasting_threads() == threads_to_spare
