"""Jobs as processes: their share of the machine, and how they end."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from seqkit.commands import multirun
from seqkit.commands.multirun import planned
from seqkit.compose import compose
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.sweeps import jobs
from seqkit.sweeps.jobs import Job, Launcher, Running


def job(folder: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job whose process runs this program in place of a training."""
    monkeypatch.setattr(jobs, "command", lambda job, options: [sys.executable, "-c", program])
    return Job.numbered(folder, 0, compose(["recipe=shakespeare"], []), [], "-")


def wait(running: Running) -> tuple[int, str]:
    while (ended := running.poll()) is None:
        time.sleep(0.01)
    return ended


@pytest.mark.parametrize(
    ("starts", "said"),
    [
        (Launcher(2, gpus=["GPU-a", "7"], threads=4), "4 7"),
        (Launcher(1), "1 None"),
    ],
)
def test_a_job_has_its_threads_and_its_gpu(
    starts: Launcher, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    program = "import os; print(*map(os.environ.get, ('OMP_NUM_THREADS', 'CUDA_VISIBLE_DEVICES')))"
    one = job(tmp_path, program, monkeypatch)
    assert wait(starts.start(one, starts.slots - 1)) == (0, "")
    assert one.log.read_text() == f"{said}\n"


def test_a_failure_tells_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys; print('seqkit: error: too late'); sys.exit(3)"
    one = job(tmp_path, program, monkeypatch)
    one.log.write_text("seqkit: error: of an earlier start\n")
    assert wait(Launcher(1).start(one, 0)) == (3, "too late")
    silent = job(tmp_path, "import sys; sys.exit(4)", monkeypatch)
    assert wait(Launcher(1).start(silent, 0)) == (4, "")


@pytest.mark.parametrize(
    "program",
    ["import os, signal; os.kill(os.getpid(), signal.SIGKILL)", "import sys; sys.exit(137)"],
    ids=["here", "as srun tells it"],
)
def test_a_process_that_is_killed_says_by_what(
    program: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = wait(Launcher(1).start(job(tmp_path, program, monkeypatch), 0))
    assert (code, "killed by SIGKILL" in said) == (5, True)


def test_a_signal_is_passed_on_and_reaches_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import os, time; print(os.getpid() == os.getpgid(0), flush=True); time.sleep(600)"
    one = job(tmp_path, program, monkeypatch)
    running = Launcher(1).start(one, 0)
    while one.log.read_text() != "True\n":
        time.sleep(0.01)
    running.stop(signal.SIGTERM)
    assert "SIGTERM" in wait(running)[1]


def test_gpus_are_those_that_the_user_leaves_visible(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert jobs.gpus(2, 4) == ["0", "1"]
    with pytest.raises(DeviceError, match="gpus=4: this machine has 2 GPUs: give fewer"):
        jobs.gpus(4, 2)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5, GPU-8f2,1")
    assert jobs.gpus(2, 3) == ["5", "GPU-8f2"]


_SRUN = """#!/bin/sh
echo "$@" >> {asked}
while [ "${{1#--}}" != "$1" ]; do shift; done
exec "$@"
"""
# A training that saves its first steps, one at each start, and is then ended by a signal.
_STOPPED = """
import json, os, pathlib, sys, numpy
from safetensors.numpy import save_file
print("an allocation" if "SLURM_JOB_ID" in os.environ else "none", flush=True)
file = pathlib.Path(r"{folder}", "checkpoints", "last.safetensors")
step = pathlib.Path(r"{folder}.log").read_text().count("none")
if step <= {steps}:
    file.parent.mkdir(parents=True, exist_ok=True)
    record = json.dumps({{"metrics": {{"step": step}}}})
    save_file({{"a": numpy.zeros(1)}}, file, {{"seqkit": record}})
if step <= {stops}:
    sys.exit(print("seqkit: error: stopped by {name}", file=sys.stderr) or 75)
"""


@pytest.fixture
def stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[list[str], int]]:
    """Run a sweep of one job on Slurm; its words, and how often the job was started."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "srun").write_text(_SRUN.format(asked=tmp_path / "asked"))
    (tmp_path / "bin" / "srun").chmod(0o700)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("SLURM_JOB_ID", "7")  # that of the sweep itself
    keys = ("partition=big", "account=lab", "minutes=240", "cpus=8", "memory_gb=32")
    words = ["recipe=shakespeare", "launcher=slurm", "jobs=2", f"run_dir={tmp_path / 's'}"]
    words += [f"launcher.{key}" for key in keys]

    def sweep(code: int, **how: object) -> tuple[list[str], int]:
        program = _STOPPED.format(folder=tmp_path / "s" / "0", **how)
        monkeypatch.setattr(jobs, "command", lambda job, options: [sys.executable, "-c", program])
        assert multirun.run(planned(words, []), words) == code
        return words, (tmp_path / "s" / "0.log").read_text().count("none\n")

    return sweep


@pytest.mark.parametrize(
    ("name", "steps", "starts"),
    [("SIGUSR1", 0, 1), ("SIGUSR1", 2, 3), ("SIGTERM", 9, 1)],
    ids=["too short to begin", "too short in the end", "scancel"],
)
def test_a_job_goes_on_as_long_as_it_gets_further_and_is_not_cancelled(
    name: str, steps: int, starts: int, stopped: Callable[..., tuple[list[str], int]]
) -> None:
    assert stopped(75, name=name, steps=steps, stops=9)[1] == starts


def test_slurm_is_asked_for_what_the_keys_say_and_a_job_that_its_clock_ends_goes_on(
    stopped: Callable[..., tuple[list[str], int]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words, starts = stopped(0, name="SIGUSR1", steps=1, stops=1)
    assert "[0] its time is over: it is queued again" in capsys.readouterr().err
    assert starts == 2
    lines = (tmp_path / "asked").read_text().splitlines()
    asked = [line for line in lines if line.startswith("--")]
    assert len(asked) == 2
    for option in (
        *("partition=big", "account=lab", "time=240", "cpus-per-task=8", "mem=32G"),
        *("signal=USR1@90", "ntasks=1"),
    ):
        assert f"--{option} " in asked[0]
    assert "gpus" not in asked[0]
    gpu = multirun._launcher(planned([*words[:2], "gpus=2"], []), [])
    assert (gpu.slots, "--gpus-per-node=1" in gpu.queue) == (2, True)
    assert gpu.options == ["device=cuda"]
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="no Slurm on this machine"):
        multirun._launcher(planned(words, []), [])
