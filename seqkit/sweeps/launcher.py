"""Jobs as processes, several at once: of this machine, or of a Slurm cluster by way of srun."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import seqkit
from seqkit.config import LauncherConfig
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DeviceError
from seqkit.foundation.wording import counted
from seqkit.sweeps.jobs import Job

_THREADS = "OMP_NUM_THREADS"
_GPUS = "CUDA_VISIBLE_DEVICES"
_ERROR = "seqkit: error: "
_TAIL = 4096  # bytes of a log in which its last words are looked for
_KILLED = 130  # 128 and a signal's number: above 130, Ctrl-C, none is an exit code of seqkit's own
_TO_SAVE = 90  # seconds before its time limit at which a job of Slurm is asked to save its state


@dataclass(frozen=True)
class Ended:
    """How a job's process ended: its exit code, and its last words where it failed."""

    code: int
    said: str = ""


@dataclass(frozen=True)
class Launcher:
    """What starts jobs, in `slots` places at once.

    options: words of the command line that come before a job's own.
    gpus: as CUDA_VISIBLE_DEVICES names them, one for each slot; none to leave them alone.
    threads: of each job; None leaves their number to the environment.
    queue: words that come before the command: srun's, where a cluster runs it.
    """

    slots: int
    options: Sequence[str] = ()
    gpus: Sequence[str] = ()
    threads: int | None = None
    queue: Sequence[str] = ()

    def start(self, job: Job, slot: int) -> "Running":
        """Start a job in a place that is free; its output goes to its log. Raises OutputError."""
        own = {_GPUS: self.gpus[slot]} if self.gpus else {}
        if self.threads is not None:
            own[_THREADS] = str(self.threads)
        return Running(job, [*self.queue, *command(job, self.options)], own, bool(self.queue))


class Running:
    """A job that was started."""

    def __init__(
        self, job: Job, words: Sequence[str], environment: Mapping[str, str], queued: bool
    ) -> None:
        self._log = job.log
        self._queued = queued
        inherited = dict(os.environ)
        if queued:  # or srun would keep to the allocation that the sweep itself runs in
            inherited = {
                name: value
                for name, value in inherited.items()
                if not name.startswith("SLURM_") or name == "SLURM_CONF"
            }
        with disk.reopen(job.log) as log:
            self._begin = job.log.stat().st_size
            self._process = subprocess.Popen(
                words,
                env={**inherited, **environment, **job.environment},
                stdin=subprocess.DEVNULL,
                stdout=log.fileno(),
                stderr=log.fileno(),
                process_group=0,  # a Ctrl-C reaches it through this program, and once
            )

    def poll(self) -> Ended | None:
        """How it ended; None as long as it did not. What a signal killed may have lacked memory."""
        code = self._process.poll()
        if self._queued and code is not None and code > _KILLED:  # as srun says it
            code = 128 - code
        if code is None or code >= 0:
            return None if code is None else Ended(code, self._last_words() if code else "")
        name = signal.Signals(-code).name
        lack = ", as when memory runs out" if name == "SIGKILL" else ""
        return Ended(DeviceError.exit_code, f"its process was killed by {name}{lack}")

    def stop(self, number: signal.Signals) -> None:
        """Ask it to save its state and end."""
        self._process.send_signal(signal.SIGTERM if self._queued else number)

    def _last_words(self) -> str:
        """What the last failure in the log said, if there is one of this start."""
        with self._log.open("rb") as file:
            file.seek(max(self._begin, self._log.stat().st_size - _TAIL))
            lines = file.read().decode("utf-8", "replace").splitlines()
        said = [line for line in lines if line.startswith(_ERROR)]
        return said[-1].removeprefix(_ERROR) if said else ""


def command(job: Job, options: Sequence[str]) -> list[str]:
    """What runs a job: this Python's seqkit, which resumes what was begun.

    Modules in the working folder are no part of it, unless seqkit itself lies there.
    """
    in_checkout = Path(seqkit.__file__).parents[1] == Path.cwd()
    python = [sys.executable] if in_checkout else [sys.executable, "-P"]
    words = [word for word in job.words if not word.startswith("run_dir=")]
    return [*python, "-m", "seqkit", *options, *words, f"run_dir={job.files.path}"]


def srun(config: LauncherConfig, *, gpu: bool) -> list[str]:
    """The words that have Slurm run a command, with a GPU or without, and wait for its end.

    Raises ConfigError where there is no Slurm.
    """
    if shutil.which("srun") is None:
        raise ConfigError("launcher=slurm: no Slurm on this machine (srun is not found)")
    asked = {
        "job-name": "seqkit",
        "nodes": 1,
        "ntasks": 1,
        "cpus-per-task": config.cpus,
        "time": config.minutes,
        "signal": f"TERM@{_TO_SAVE}",
        "gpus-per-node": 1 if gpu else None,
        "mem": config.memory_gb and f"{config.memory_gb}G",
        "partition": config.partition,
        "account": config.account,
    }
    return ["srun", *(f"--{name}={value}" for name, value in asked.items() if value is not None)]


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
