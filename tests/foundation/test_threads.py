"""PyTorch takes no more threads than there are cores free."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from seqkit.foundation import threads
from seqkit.foundation.threads import SharedCores, fitting_threads, has_room

_WAITS = """
import os, time
import torch
from seqkit import threads
from seqkit.foundation.threads import SharedCores

torch.set_num_threads(max(len(os.sched_getaffinity(0)), 2))
threads._cores_left_free = lambda: 0
shared_out = torch.ones(1 << 17)

def spent():
    tries = []
    for _ in range(3):
        begun = time.process_time()
        for _ in range(40):
            shared_out.add_(1)
            time.sleep(0.002)  # meanwhile the other threads wait for the next operation
        tries.append(time.process_time() - begun)
    return tries

before = spent()
with SharedCores(torch.device("cpu"), fixed=True):
    between = spent()
# Where other programs run, threads that spin may get no core, and others take longer.
print(min(between) < max(before) / 3, min(between) < max(spent()) / 3)
"""
_LOOP = """
import os, subprocess, sys
import torch
from seqkit import threads
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


@pytest.mark.parametrize(
    ("now", "computed", "waited", "idle", "room"),
    [
        (2, 1.98, 0.02, 0.0, True),  # alone
        (2, 0.9, 0.05, 0.05, False),  # beside one busy program
        (16, 14.0, 0.1, 1.9, True),  # alone
        (16, 4.0, 0.1, 11.9, True),  # alone, in Python for most of the time
        (16, 11.0, 0.1, 0.9, False),  # four of 16 cores are busy
        (16, 3.0, 0.1, 8.9, False),  # and this is in Python
        (8, 7.0, 0.1, 4.8, True),  # the others have enough cores of their own
        (16, 15.0, 0.9, 0.2, False),  # crowded
    ],
)
def test_threads_have_room_where_no_other_program_needs_their_cores(
    now: int, computed: float, waited: float, idle: float, room: bool
) -> None:
    assert has_room(now, computed, waited, idle) is room


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how its cores are used")
@pytest.mark.parametrize(
    ("given", "variables", "fewer"),
    [
        ("free", {}, True),
        ("deterministic", {}, False),
        ("gpu", {}, False),
        ("free", {"OMP_WAIT_POLICY": "passive"}, False),  # what the user set is kept
    ],
)
def test_busy_programs_get_their_cores(given: str, variables: dict[str, str], fewer: bool) -> None:
    environment = {**os.environ, **variables}
    environment.pop("OMP_NUM_THREADS", None)
    done = subprocess.run(
        [sys.executable, "-c", _LOOP, given, "20000" if fewer else "2000"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(fewer), "True"]


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how its cores are used")
@pytest.mark.parametrize(("set_by_user", "short"), [(None, True), ("GOMP_SPINCOUNT", False)])
def test_threads_whose_number_stays_block_beside_other_programs(
    set_by_user: str | None, short: bool
) -> None:
    environment = {**os.environ, **({set_by_user: "300000"} if set_by_user else {})}
    environment.pop("OMP_NUM_THREADS", None)
    done = subprocess.run(
        [sys.executable, "-c", _WAITS],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(short)] * 2


@pytest.fixture
def threads_to_spare(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    """A PyTorch with four threads, on a machine with one core free."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(threads, "_cores_left_free", lambda: 1)
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


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how its cores are used")
@pytest.mark.parametrize("variable", [None, "OMP_NUM_THREADS"])
def test_waits_are_short_as_long_as_other_programs_compute(
    variable: str | None, threads_to_spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if variable:
        monkeypatch.setenv(variable, str(threads_to_spare))
    monkeypatch.setattr(threads, "_cores_left_free", lambda: threads_to_spare)
    told = [
        (3.9, 0.1, 0.0, False),  # alone
        (2.9, 1.1, 0.0, True),  # beside a busy program
        (2.1, 1.4, 0.1, True),
        (2.9, 0.1, 0.1, True),  # it left the threads their cores, and is there
        *[(1.0, 0.1, 2.0, True)] * 5,  # as it is while they wait for Python
        *[(2.4, 0.1, 1.4, True)] * 3,  # it waits for something
        (2.9, 0.1, 0.1, True),
        *[(2.4, 0.1, 1.4, True)] * 3,
        (2.4, 0.1, 1.4, False),  # it has ended
    ]
    usages = [threads._Usage(0.0, 0.0, 0.0, 0.0)]
    for *shares, _ in told:
        usages.append(threads._Usage(*np.add(usages[-1], [1.0, *shares]).tolist()))
    following = iter(usages)
    monkeypatch.setattr(threads._Usage, "now", lambda: next(following))
    with SharedCores(torch.device("cpu"), fixed=variable is None) as cores:
        for *_, short in told:
            cores.adapt()
            assert torch.get_num_threads() == threads_to_spare
            assert any(one.name == "sleeper" for one in threading.enumerate()) == short


def test_a_system_that_tells_nothing_keeps_its_threads(
    threads_to_spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(threads._Usage, "now", lambda: None)
    with SharedCores(torch.device("cpu")) as cores:
        cores.adapt()
        assert torch.get_num_threads() == threads_to_spare
    assert torch.get_num_threads() == threads_to_spare


@pytest.mark.parametrize(
    ("files", "granted"),
    [
        ({"proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/cpu.max": "250000 100000\n"}, 3),
        ({"proc/self/cgroup": "0::/docker\n", "sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "max 100000\n"}, None),
        (
            {
                "proc/self/cgroup": "5:memory:/a\n4:cpu,cpuacct:/a\n",
                "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us": "200000\n",
                "sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us": "100000\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1\n",
                "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000\n",
            },
            2,
        ),
        ({}, None),
    ],
)
def test_a_control_group_grants_the_time_of_so_many_cores(
    files: dict[str, str], granted: int | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert threads.cores_granted(tmp_path) == (granted or 64)


def test_a_program_that_runs_for_a_moment_takes_no_core(
    threads_to_spare: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert threads.lasting_threads() == 1
    looks = iter([1, 3, 1, 2, 1])
    monkeypatch.setattr(threads, "_cores_left_free", lambda: next(looks))
    assert threads.lasting_threads() == 3
    monkeypatch.setattr(threads, "_cores_left_free", lambda: None)
    assert threads.lasting_threads() == threads_to_spare
    monkeypatch.setenv("OMP_WAIT_POLICY", "passive")
    assert threads.lasting_threads() == threads_to_spare
