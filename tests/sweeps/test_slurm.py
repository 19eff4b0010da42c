"""Jobs by submitit, whose local executor runs them on this machine as it would on a cluster's."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from seqkit.commands import multirun
from seqkit.commands.sweep_plan import planned
from seqkit.compose import compose
from seqkit.config import LauncherConfig
from seqkit.foundation.errors import ConfigError
from seqkit.sweeps.jobs import Job
from seqkit.sweeps.local import Ended, Running
from seqkit.sweeps.slurm import Slurm
from tests.commands.test_multirun import owner, table
from tests.conftest import SENTENCE, TINY, environment, saved, wait_for_steps


@pytest.fixture
def job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A training in tmp_path / "0"."""
    monkeypatch.setenv("PYTHONPATH", environment()["PYTHONPATH"])
    (tmp_path / "text.txt").write_text(SENTENCE * 40)
    words = [*TINY, f"data.path={tmp_path / 'text.txt'}", "resume=auto"]
    return Job.at(tmp_path / "0", compose(words, []), words, "-")


def queue(cpus: int = 1) -> Slurm:
    return Slurm(LauncherConfig(cpus=cpus), 2, [], gpus=False, share_cores=True, cluster="local")


def wait(running: Running) -> Ended:
    while (ended := running.poll()) is None:
        time.sleep(0.05)
    return ended


@pytest.mark.thorough
def test_a_job_trains_with_its_cores_and_tells_how_it_ended(job: Job, tmp_path: Path) -> None:
    job.words = [*job.words, "train.max_steps=3"]
    assert wait(queue(cpus=2).start(job, 0)) == Ended(0)
    assert job.is_finished is False  # it was asked for more steps than the job's own config has
    assert job.files.summary.is_file()
    assert "cpu (2 threads)" in job.log.read_text()
    job.words = [*job.words, f"data.path={tmp_path / 'none.txt'}", "resume=never"]
    failed = wait(queue().start(job, 0))
    assert (failed.code, "holds a run" in failed.said) == (6, True)


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_at_its_time_limit_a_job_is_saved_queued_again_and_goes_on(
    job: Job, tmp_path: Path
) -> None:
    job.words = [*job.words, "train.max_steps=100000", "train.validate_every=0"]
    running = queue().start(job, 0)
    wait_for_steps(tmp_path / "0", 10)
    (stderr,) = (tmp_path / ".slurm").glob("*_0_log.err")
    controller = int(stderr.name.partition("_")[0])
    (task,) = Path(f"/proc/{controller}/task/{controller}/children").read_text().split()
    os.kill(int(task), signal.SIGUSR2)  # as Slurm does, a moment before the end
    while "going on at step" not in job.log.read_text():
        assert running.poll() is None, stderr.read_text()
        time.sleep(0.05)
    assert "stopped by SIGTERM" in job.log.read_text()
    training = owner(tmp_path / "0")
    running.stop(signal.SIGINT)
    assert wait(running) == Ended(75)
    assert saved(tmp_path / "0").metrics["step"] >= 10
    while Path(f"/proc/{training}").exists():
        time.sleep(0.05)


@pytest.mark.thorough
def test_a_sweep_fills_the_queue(
    job: Job,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(multirun, "_launcher", lambda plan, options: queue())
    run_dir = tmp_path / "s"
    words = [*job.words, "train.max_steps=3", "seed=1,2,3", "launcher=local", "jobs=2"]
    for outcome in ("finished", "finished before"):
        plan = planned([*words, f"run_dir={run_dir}"], [])
        assert multirun.run(plan, words) == 0
        assert [row[3] for row in table(capfd.readouterr().err)] == [outcome] * 3


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with programs that stand in for Slurm's: jobs are taken, and none is run."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, script in (("srun", ""), ("sbatch", "echo Submitted batch job 7")):
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o700)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    return folder


def test_slurm_is_asked_for_what_the_keys_say(job: Job, programs: Path, tmp_path: Path) -> None:
    config = LauncherConfig("slurm", "big", "lab", minutes=240, cpus=8, memory_gb=32)
    Slurm(config, 16, [], gpus=True, share_cores=True).start(job, 0)
    script = tmp_path / ".slurm" / "7_submission.sh"
    asked = {
        *("partition=big", "account=lab", "time=240", "cpus-per-task=8", "mem=32GB"),
        *("gpus-per-node=1", "signal=USR2@90"),
    }
    lines = {line.removeprefix("#SBATCH --") for line in script.read_text().splitlines()}
    assert asked <= lines
    (programs / "sbatch").write_text("#!/bin/sh\necho no such partition >&2\nexit 1\n")
    with pytest.raises(ConfigError, match="the job was refused: no such partition"):
        Slurm(config, 16, [], gpus=False, share_cores=True).start(job, 0)


def test_what_cannot_be_had_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="no Slurm on this machine"):
        Slurm(LauncherConfig(), 1, [], gpus=False, share_cores=False)
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(ConfigError, match=r"pip install 'seqkit\[slurm\]'"):
        queue()
