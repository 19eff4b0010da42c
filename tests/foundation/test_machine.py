"""Cores and memory: what is free, what cannot fit, and no more threads than there are cores."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from seqkit.foundation import machine
from seqkit.foundation.errors import DeviceError
from seqkit.foundation.machine import SharedCores
from tests.conftest import Run

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
    found = machine.free_bytes(machine.HOST, files(tmp_path, content))
    assert found == pytest.approx(free * GB, abs=10**6)


def test_without_linux_all_memory_counts_as_free(tmp_path: Path) -> None:
    total = machine.free_bytes(machine.HOST, tmp_path)
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


def test_what_fits_is_found_by_calculation() -> None:
    assert machine.largest(lambda n: n * n, 10_000, below=1000) == 77
    assert machine.largest(lambda n: n * n, None, below=100) == 77  # what failed was too much
    assert machine.largest(lambda n: 10**9, 10_000, below=1000) == 0


def test_a_refusal_has_both_numbers() -> None:
    with pytest.raises(DeviceError, match=r"it needs at least 3\.0 GB, and 2\.0 GB is free\. No\."):
        machine.require(3 * GB, 2 * GB, "it", "No.")
    machine.require(2 * GB, 2 * GB, "it", "No.")
    machine.require(2 * GB, None, "it", "No.")


@pytest.mark.parametrize(
    ("keys", "fits"),
    [
        (["model.num_layers=1000", "model.hidden_size=3000"], "model.hidden_size="),
        (["model.hidden_size=300000"], "model.hidden_size="),
        (["model.vocabulary_size=1000000", "train.batch_size=3000"], "train.batch_size="),
    ],
)
def test_a_training_that_cannot_fit_is_refused_before_anything_is_made(
    keys: list[str], fits: str, run: Run, tiny: list[str], text_file: Path, tmp_path: Path
) -> None:
    text_file.write_text(text_file.read_text() * 1000)
    refused = run.fails(5, *tiny, *keys)
    assert "this training needs at least" in refused
    assert fits in refused
    assert refused.count("seqkit: error") == 1
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "checkpoint={}", "streams=1000000000", "length=5"],
        ["bench", "shape=generate_text", "streams=1000000000", "device=cpu"],
    ],
)
def test_other_commands_refuse_what_cannot_fit(
    arguments: list[str], run: Run, trained: Path
) -> None:
    refused = run.fails(5, *(argument.format(trained) for argument in arguments))
    assert "needs at least" in refused
    assert "By estimate" in refused


_LOOP = """
import os, subprocess, sys
import torch
from seqkit.foundation import machine

cores = len(os.sched_getaffinity(0))
torch.set_num_threads(max(cores, 2))
machine._EVERY = 0.05
most = torch.get_num_threads()
a = torch.ones(300, 300)
busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
seen = {most}
try:
    with machine.SharedCores(torch.device("cpu")) as shared:
        for _ in range(20000):
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
    monkeypatch.setattr(machine, "own_cores", lambda: cores)
    assert machine._Usage(12.0, 5.0 + 2 * ours).threads_since(machine._Usage(10.0, 5.0)) == fitting


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how its cores are used")
def test_busy_programs_get_their_cores() -> None:
    environment = {**os.environ}
    environment.pop("OMP_NUM_THREADS", None)
    done = subprocess.run(
        [sys.executable, "-c", _LOOP], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["True", "True"]


@pytest.fixture
def threads_to_spare(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A PyTorch with four threads, where this process may use one core."""
    for name in machine._SET_BY_USER:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(machine, "own_cores", lambda: 1)
    before = torch.get_num_threads()
    torch.set_num_threads(4)
    yield 4
    torch.set_num_threads(before)


def test_a_loop_gives_the_threads_back(threads_to_spare: int) -> None:
    with SharedCores(torch.device("cpu")):
        assert torch.get_num_threads() == (1 if sys.platform == "linux" else threads_to_spare)
    assert torch.get_num_threads() == threads_to_spare


def test_small_products_take_few_threads(threads_to_spare: int) -> None:
    torch.set_num_threads(threads_to_spare)
    with machine.few_threads(2):
        assert torch.get_num_threads() == 2
        with machine.few_threads(4):
            assert torch.get_num_threads() == 2
    assert torch.get_num_threads() == threads_to_spare


def test_a_user_and_a_system_that_tells_nothing_keep_their_threads(
    threads_to_spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as told:
        told.setenv("OMP_WAIT_POLICY", "passive")  # what the user set is kept
        with SharedCores(torch.device("cpu")):
            assert torch.get_num_threads() == threads_to_spare
    monkeypatch.setattr(machine._Usage, "now", lambda: None)
    with SharedCores(torch.device("cpu")) as cores:
        cores.adapt()
        assert torch.get_num_threads() == threads_to_spare
    assert machine.lasting_threads() == threads_to_spare
