"""Cores and memory: what is free, and what cannot fit."""

import os
from pathlib import Path

import pytest

from seqkit.foundation import device, machine

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
