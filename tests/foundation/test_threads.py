"""As many threads as there are cores to spare, and afterwards as many as before."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest
import torch

from seqkit.foundation import threads
from seqkit.foundation.threads import shared_cores

pytestmark = pytest.mark.faults

LINUX = sys.platform == "linux"


_LOOP = """
import os, subprocess, sys
import torch
from seqkit.foundation import threads

cores = len(os.sched_getaffinity(0))
torch.set_num_threads(max(cores, 2))
most = torch.get_num_threads()
threads._EVERY = 0.05
a = torch.ones(300, 300)
busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
try:
    with threads.shared_cores() as adapt:
        threads._CORES._free = most  # as if they had just begun
        adapt()
        seen = [torch.get_num_threads()]
        for _ in range(20000):
            a @ a
            adapt()
            seen.append(torch.get_num_threads())
            if seen[-1] == 1:
                break
finally:
    for process in busy:
        process.kill()
print(seen[0] == most, seen[-1] < most, torch.get_num_threads() == most)
"""


@pytest.mark.thorough
@pytest.mark.skipif(not LINUX, reason="only Linux tells how its cores are used")
def test_busy_programs_get_their_cores() -> None:
    environment = {**os.environ}
    environment.pop("OMP_NUM_THREADS", None)
    done = subprocess.run(
        [sys.executable, "-c", _LOOP], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True", "True"]


@pytest.fixture
def to_spare(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A PyTorch with four threads, where this process may use one core."""
    for name in threads._SET_BY_USER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(threads, "own_cores", lambda: 1)
    monkeypatch.setattr(threads, "_CORES", threads._Cores())
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield 4
    torch.set_num_threads(before)


def test_blocks_give_the_threads_back_in_whatever_order_they_end(to_spare: int) -> None:
    first, second = contextlib.ExitStack(), contextlib.ExitStack()
    first.enter_context(shared_cores())
    assert torch.get_num_threads() == (1 if LINUX else to_spare)
    second.enter_context(shared_cores(exactly=3))
    assert torch.get_num_threads() == 3
    first.close()
    second.close()
    assert torch.get_num_threads() == to_spare


def test_a_user_and_a_system_that_tells_nothing_keep_their_threads(
    to_spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as told:
        told.setenv("OMP_WAIT_POLICY", "passive")  # what the user set is kept
        with shared_cores():
            assert torch.get_num_threads() == to_spare
    monkeypatch.setattr(sys, "platform", "darwin")
    with shared_cores() as adapt:
        adapt()
        assert torch.get_num_threads() == to_spare
