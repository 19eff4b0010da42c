"""PyTorch takes no more threads than there are cores free."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from seqkit.foundation import threads
from seqkit.foundation.threads import SharedCores

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
    ("ours", "cores", "fitting"),
    [
        (1.98, 2, 2),  # alone
        (1.70, 2, 2),  # a little of everything is left alone
        (1.23, 2, 1),  # beside one busy program
        (0.70, 2, 1),  # it never goes below one
        (12.5, 16, 12),  # four of 16 cores are busy
        (64.0, 16, 16),  # never more than it may use
    ],
)
def test_threads_fit_the_cores_that_others_leave(
    ours: float, cores: int, fitting: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads, "own_cores", lambda: cores)
    assert threads._Usage(12.0, 5.0 + 2 * ours).threads_since(threads._Usage(10.0, 5.0)) == fitting


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


def test_a_loop_gives_the_threads_back(threads_to_spare: int) -> None:
    with SharedCores(torch.device("cpu")):
        assert torch.get_num_threads() == (1 if sys.platform == "linux" else threads_to_spare)
    assert torch.get_num_threads() == threads_to_spare


def test_a_system_that_tells_nothing_keeps_its_threads(
    threads_to_spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads._Usage, "now", lambda: None)
    with SharedCores(torch.device("cpu")) as cores:
        cores.adapt()
        assert torch.get_num_threads() == threads_to_spare
    assert threads.lasting_threads() == threads_to_spare
