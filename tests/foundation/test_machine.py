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

GB = 10**9


def files(root: Path, content: dict[str, str]) -> Path:
    """Files of the kind that Linux shows, below `root`: 8 GB are free, and 1 GB of swap."""
    kb = GB // 1000 * 1000 // 1024
    content = {"proc/meminfo": f"MemAvailable: {8 * kb} kB\nSwapFree: {kb} kB\n", **content}
    for name, text in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def group(path: str, most: str, current: float) -> dict[str, str]:
    """The files of a control group, with a cache of 0.2 GB."""
    return {
        f"{path}/memory.max": f"{most}\n",
        f"{path}/memory.current": f"{int(current * GB)}\n",
        f"{path}/memory.stat": f"anon 5\ninactive_file {GB // 10}\nactive_file {GB // 10}\n",
    }


@pytest.mark.parametrize(
    ("content", "free"),
    [
        ({}, 9.0),
        (
            {
                "proc/self/cgroup": "0::/user/job\n",
                **group("sys/fs/cgroup/user/job", "max", 1),
                **group("sys/fs/cgroup/user", f"{3 * GB}", 1),
            },
            3.2,  # 3 - 1, the cache and the swap
        ),
        (  # a container sees its own group as the outermost
            {
                "proc/self/cgroup": "0::/docker/abc\n",
                **group("sys/fs/cgroup", f"{2 * GB}", 0.5),
            },
            2.7,
        ),
    ],
)
def test_free_is_what_the_machine_and_every_control_group_leave(
    content: dict[str, str], free: float, tmp_path: Path
) -> None:
    found = machine.free_bytes(device.HOST, files(tmp_path, content))
    assert found == pytest.approx(free * GB, abs=10**6)


def test_without_linux_all_memory_counts_as_free(tmp_path: Path) -> None:
    total = machine.free_bytes(device.HOST, tmp_path)
    assert total is not None
    assert total >= GB


@pytest.mark.parametrize(
    ("content", "granted"),
    [
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "250000 100000\n"}, 3),
        ({"proc/self/cgroup": "0::/docker\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, 64),
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
