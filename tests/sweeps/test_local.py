"""Jobs as processes: their share of the machine, and how they end."""

import signal
import sys
import time
from pathlib import Path

import pytest

from seqkit.compose import compose
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.sweeps import local
from seqkit.sweeps.jobs import Job
from seqkit.sweeps.local import Ended, Local


def job(folder: Path, program: str, monkeypatch: pytest.MonkeyPatch) -> Job:
    """A job whose process runs this program in place of a training."""
    monkeypatch.setattr(local, "command", lambda job, options: [sys.executable, "-c", program])
    return Job.at(folder / "0", compose(["recipe=shakespeare"], []), [], "-")


def wait(running: local.Running) -> Ended:
    while (ended := running.poll()) is None:
        time.sleep(0.01)
    return ended


@pytest.mark.parametrize(
    ("launcher", "said"),
    [
        (Local(4, [], threads=3), "3 None"),
        (Local(2, [], ["GPU-a", "7"], threads=4), "4 7"),
        (Local(1, []), "1 None"),
    ],
)
def test_a_job_has_its_threads_and_its_gpu(
    launcher: Local, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    program = "import os; print(*map(os.environ.get, ('OMP_NUM_THREADS', 'CUDA_VISIBLE_DEVICES')))"
    one = job(tmp_path, program, monkeypatch)
    assert wait(launcher.start(one, launcher.slots - 1)) == Ended(0)
    assert one.log.read_text() == f"{said}\n"


def test_a_failure_tells_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "import sys; print('seqkit: error: too late'); sys.exit(3)"
    one = job(tmp_path, program, monkeypatch)
    one.log.write_text("seqkit: error: of an earlier start\n")
    assert wait(Local(1, []).start(one, 0)) == Ended(3, "too late")
    silent = job(tmp_path, "import sys; sys.exit(4)", monkeypatch)
    assert wait(Local(1, []).start(silent, 0)) == Ended(4)


def test_a_process_that_is_killed_says_by_what(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = job(tmp_path, "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", monkeypatch)
    killed = wait(Local(1, []).start(one, 0))
    assert (killed.code, "killed by SIGKILL" in killed.said) == (5, True)


def test_a_signal_is_passed_on_and_reaches_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = "import os, time; print(os.getpid() == os.getpgid(0), flush=True); time.sleep(600)"
    one = job(tmp_path, program, monkeypatch)
    running = Local(1, []).start(one, 0)
    while one.log.read_text() != "True\n":
        time.sleep(0.01)
    running.stop(signal.SIGTERM)
    assert "SIGTERM" in wait(running).said


@pytest.mark.parametrize(
    ("count", "visible", "present", "names"),
    [(2, None, 4, ["0", "1"]), (2, "5, 3,1", 3, ["5", "3"]), (1, "GPU-8f2", 1, ["GPU-8f2"])],
)
def test_gpus_are_those_that_the_user_leaves_visible(
    count: int, visible: str | None, present: int, names: list[str]
) -> None:
    assert local.gpus(count, visible, present) == names


def test_more_gpus_than_there_are_are_refused() -> None:
    with pytest.raises(DeviceError, match="gpus=4: this machine has 2 GPUs: give fewer"):
        local.gpus(4, None, 2)
    with pytest.raises(DeviceError, match="has 1 GPU with CUDA_VISIBLE_DEVICES=3"):
        local.gpus(2, "3", 1)
    with pytest.raises(ConfigError, match="device=cpu: gpus= gives each job a GPU"):
        local.check_device("cpu")
