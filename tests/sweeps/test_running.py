"""A sweep waits for its jobs, whatever happens to the sweep itself."""

import sys
from pathlib import Path

import pytest

from seqkit.compose import compose
from seqkit.foundation.console import Console
from seqkit.foundation.errors import OutputError
from seqkit.sweeps import jobs
from seqkit.sweeps.jobs import Job, Launcher
from seqkit.sweeps.running import Grid, Sweep

FIRST = "import pathlib, time\nwhile not pathlib.Path(r'{}').exists(): time.sleep(0.01)"
OTHERS = """
import pathlib, signal, sys, time
def end(*_):
    time.sleep({number} / 2)
    pathlib.Path(r'{folder}', 'saved_{number}').touch()
    sys.exit(75)
signal.signal(signal.SIGTERM, end)
pathlib.Path(r'{folder}', 'ready_{number}').touch()
time.sleep(600)
"""


class FullDisk(Grid):
    """Jobs whose outcomes cannot be written down."""

    def tell(self, job: Job) -> None:
        raise OutputError(f"no room for the outcome of {job.name}")


def test_jobs_are_waited_for_though_their_outcomes_cannot_be_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = [FIRST.format(tmp_path / "ready_2")]
    programs += [OTHERS.format(folder=tmp_path, number=number) for number in (1, 2)]
    monkeypatch.setattr(
        jobs, "command", lambda job, options: [sys.executable, "-c", programs[int(job.name)]]
    )
    composed = compose(["recipe=shakespeare"], [])
    known = [Job.numbered(tmp_path, number, composed, [], "-") for number in range(3)]
    sweep = Sweep(FullDisk(known), Launcher(3), Console(quiet=True), lambda: None)
    with pytest.raises(OutputError, match="the outcome of 0"):
        sweep.run()
    assert (tmp_path / "saved_2").exists()


def test_a_job_that_ends_in_a_traceback_ends_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = ["raise RuntimeError('CUDA error')", "pass"]
    monkeypatch.setattr(
        jobs, "command", lambda job, options: [sys.executable, "-c", programs[int(job.name)]]
    )
    composed = compose(["recipe=shakespeare"], [])
    known = [Job.numbered(tmp_path, number, composed, [], "-") for number in range(2)]
    Sweep(Grid(known), Launcher(1), Console(quiet=True), lambda: None).run()
    assert [job.code for job in known] == [1, 0]
