"""PyTorch takes no more threads than there are cores free."""

import os
import subprocess
import sys

import pytest
import torch

from seqkit.threads import SharedCores, fitting_threads

_LOOP = """
import os, subprocess, sys
import torch
from seqkit.threads import SharedCores

cores, fixed, looks = len(os.sched_getaffinity(0)), sys.argv[1] == "fixed", int(sys.argv[2])
torch.set_num_threads(max(cores, 2))
most = torch.get_num_threads()
a = torch.ones(300, 300)
busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(cores)]
seen = {most}
try:
    with SharedCores(torch.device("cpu"), fixed=fixed) as shared:
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
    ("threads", "computed", "waited", "idle", "fitting"),
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
        (2, 1.70, 0.25, 0.0, 2),  # a little of everything is left alone
    ],
)
def test_threads_fit_the_cores_that_are_free(
    threads: int, computed: float, waited: float, idle: float, fitting: int
) -> None:
    assert fitting_threads(threads, computed, waited, idle) == fitting


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells how its cores are used")
@pytest.mark.parametrize(
    ("given", "looks", "variables", "fewer"),
    [
        ("free", 20_000, {}, True),
        ("fixed", 100, {}, False),
        ("free", 100, {"OMP_WAIT_POLICY": "passive"}, False),  # what the user set is kept
    ],
)
def test_busy_programs_get_their_cores(
    given: str, looks: int, variables: dict[str, str], fewer: bool
) -> None:
    environment = {**os.environ, **variables}
    environment.pop("OMP_NUM_THREADS", None)
    done = subprocess.run(
        [sys.executable, "-c", _LOOP, given, str(looks)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(fewer), "True"]


def test_a_gpu_s_loop_leaves_the_threads_alone() -> None:
    before = torch.get_num_threads()
    with SharedCores(torch.device("cuda", 0)) as cores:
        cores.adapt()
        assert torch.get_num_threads() == before
