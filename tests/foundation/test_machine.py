"""Cores, threads and memory: what is free, and what cannot fit."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from seqkit.foundation import device, machine
from seqkit.foundation.machine import shared_cores

pytestmark = pytest.mark.faults


def files(root: Path, content: dict[str, str]) -> Path:
    """Files of the kind that Linux shows, below `root`."""
    for name, text in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_free_is_at_most_what_the_machine_has() -> None:
    free = machine.free_bytes(device.HOST)
    assert free is None or 0 < free < 1 << 50


@pytest.mark.parametrize(
    ("content", "granted"),
    [
        ({"sys/fs/cgroup/cpu.max": "250000 100000\n"}, 3),
        ({"sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"sys/fs/cgroup/cpu.max": "max 100000\n"}, 64),
        ({}, 64),
    ],
)
def test_a_group_grants_the_time_of_so_many_cores(
    content: dict[str, str], granted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: range(64), raising=False)
    assert machine.own_cores(files(tmp_path, content)) == granted


LINUX = sys.platform == "linux"


_LOOP = """
import os, subprocess, sys
import torch
from seqkit.foundation import machine

cores = len(os.sched_getaffinity(0))
torch.set_num_threads(max(cores, 2))
most = torch.get_num_threads()
machine._EVERY = 0.05
a = torch.ones(300, 300)
busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
try:
    with machine.shared_cores() as adapt:
        machine._CORES._free = most  # as if they had just begun
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
    for name in machine._SET_BY_USER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine, "own_cores", lambda: 1)
    monkeypatch.setattr(machine, "_CORES", machine._Cores())
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
