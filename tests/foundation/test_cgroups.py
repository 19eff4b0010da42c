"""What control groups leave a process, in containers, too."""

import os
from pathlib import Path

import pytest

from seqkit.foundation import cgroups

GB = 10**9


def files(root: Path, content: dict[str, str]) -> Path:
    """Files of the kind that Linux shows, below `root`."""
    kb = GB // 1000 * 1000 // 1024
    content = {"proc/meminfo": f"MemAvailable: {8 * kb} kB\nSwapFree: {kb} kB\n", **content}
    for name, text in content.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def left(root: Path) -> list[int]:
    """What each control group leaves, in tenths of a GB."""
    return [round(10 * count / GB) for count in cgroups.memory_left(root)]


def group_of_v2(most: str, current: float, swap: str = "0") -> dict[str, str]:
    return {
        "memory.max": f"{most}\n",
        "memory.current": f"{int(current * GB)}\n",
        "memory.swap.max": f"{swap}\n",
        "memory.swap.current": "0\n",
        "memory.stat": f"anon 5\ninactive_file {GB // 10}\nactive_file {GB // 10}\n",
    }


def below(path: str, group: dict[str, str]) -> dict[str, str]:
    return {f"{path}/{name}": text for name, text in group.items()}


def test_every_group_above_the_own_one_counts(tmp_path: Path) -> None:
    root = files(
        tmp_path,
        {
            "proc/self/cgroup": "0::/user/job\n",
            **below("sys/fs/cgroup/user/job", group_of_v2("max", 1)),
            **below("sys/fs/cgroup/user", group_of_v2(f"{3 * GB}", 1)),
        },
    )
    assert left(root) == [22]  # 3 - 1, and a file cache of 0.2


def test_a_container_sees_its_own_group_as_the_outermost(tmp_path: Path) -> None:
    group = group_of_v2(f"{2 * GB}", 0.5, swap="max")
    root = files(
        tmp_path, {"proc/self/cgroup": "0::/docker/abc\n", **below("sys/fs/cgroup", group)}
    )
    assert left(root) == [27]  # 1.5, a cache of 0.2, and the machine's swap


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
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert cgroups.cores_granted(files(tmp_path, content)) == granted
