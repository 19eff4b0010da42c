"""Jobs as processes of this machine, several at once, each with its share of cores or a GPU."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import seqkit
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.foundation.wording import counted
from seqkit.sweeps.jobs import Job

THREADS = "OMP_NUM_THREADS"
_GPUS = "CUDA_VISIBLE_DEVICES"
_ERROR = "seqkit: error: "
_TAIL = 4096  # bytes of a log in which its last words are looked for


@dataclass(frozen=True)
class Ended:
    """How a job's process ended: its exit code, and its last words where it failed."""

    code: int
    said: str = ""


class Running(Protocol):
    """A job that was started."""

    def poll(self) -> Ended | None:
        """How it ended; None as long as it did not."""

    def stop(self, number: signal.Signals) -> None:
        """Ask it to save its state and end."""


class Launcher(Protocol):
    """What starts jobs, in `slots` places at once."""

    slots: int

    def start(self, job: Job, slot: int) -> Running:
        """Start a job in a place that is free. Raises SeqkitError where that cannot be done."""


def command(job: Job, options: Sequence[str]) -> list[str]:
    """What runs a job: this Python's seqkit, which resumes what was begun.

    Modules in the working folder are no part of it, unless seqkit itself lies there.
    """
    in_checkout = Path(seqkit.__file__).parents[1] == Path.cwd()
    python = [sys.executable] if in_checkout else [sys.executable, "-P"]
    words = [word for word in job.words if not word.startswith("run_dir=")]
    return [*python, "-m", "seqkit", *options, *words, f"run_dir={job.files.path}"]


def last_words(log: Path, begin: int) -> str:
    """What the last failure in a log said, if there is one after its byte `begin`."""
    try:
        with log.open("rb") as file:
            file.seek(max(begin, log.stat().st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
    except OSError:
        return ""
    said = [line for line in lines if line.startswith(_ERROR)]
    return said[-1].removeprefix(_ERROR) if said else ""


def read_status(returncode: int, said: str) -> Ended:
    """How a process ended, by its exit status; one that a signal killed may have lacked memory."""
    if returncode >= 0:
        return Ended(returncode, said if returncode else "")
    name = signal.Signals(-returncode).name
    lack = ", as when memory runs out" if name == "SIGKILL" else ""
    return Ended(DeviceError.exit_code, f"its process was killed by {name}{lack}")


class Local:
    """Processes of this machine."""

    def __init__(
        self,
        slots: int,
        options: Sequence[str],
        gpus: Sequence[str] = (),
        threads: int | None = None,
    ) -> None:
        """So many places for jobs.

        Args:
            slots: how many at once.
            options: words of the command line that come before a job's own.
            gpus: as CUDA_VISIBLE_DEVICES names them, one for each slot; none to leave them alone.
            threads: of each; None leaves their number to the environment.
        """
        self.slots = slots
        self._options = options
        self._gpus = gpus
        self.threads = threads

    def start(self, job: Job, slot: int) -> "_Process":
        """Start a process, whose output goes to the job's log. Raises OutputError."""
        own = {_GPUS: self._gpus[slot]} if self._gpus else {}
        if self.threads is not None:
            own[THREADS] = str(self.threads)
        return _Process(job, self._options, own)


class _Process:
    def __init__(self, job: Job, options: Sequence[str], environment: Mapping[str, str]) -> None:
        self._log = job.log
        with disk.reopen(job.log) as log:
            self._begin = job.log.stat().st_size
            self._process = subprocess.Popen(
                command(job, options),
                env={**os.environ, **environment, **job.environment},
                stdin=subprocess.DEVNULL,
                stdout=log.fileno(),
                stderr=log.fileno(),
                process_group=0,  # a Ctrl-C reaches it through this program, and once
            )

    def poll(self) -> Ended | None:
        """How it ended; None as long as it did not."""
        code = self._process.poll()
        return None if code is None else read_status(code, last_words(self._log, self._begin))

    def stop(self, number: signal.Signals) -> None:
        """Pass a signal on."""
        self._process.send_signal(number)


def gpus(count: int, visible: str | None, present: int) -> list[str]:
    """The names of so many GPUs for CUDA_VISIBLE_DEVICES.

    Args:
        count: how many are asked for.
        visible: CUDA_VISIBLE_DEVICES as it is now; None if it is not set.
        present: how many CUDA finds under it.

    Raises:
        DeviceError: there are not so many.
    """
    if present < count:
        under = "" if visible is None else f" with {_GPUS}={visible}"
        found = counted(present, "GPU")
        raise DeviceError(f"gpus={count}: this machine has {found}{under}: give fewer")
    names = [str(number) for number in range(present)] if visible is None else visible.split(",")
    return [name.strip() for name in names[:count]]


def check_device(device: str) -> None:
    """Raise ConfigError where the jobs' device contradicts a GPU for each."""
    if device not in ("auto", "cuda"):
        raise ConfigError(f"device={device}: gpus= gives each job a GPU: leave device out")
