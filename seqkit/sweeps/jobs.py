"""The jobs of a sweep: each a training in a numbered folder, and a process of its own.

Several run at once: on this machine, or on a Slurm cluster by way of srun.
"""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import seqkit
from seqkit.compose import Composed
from seqkit.config import LauncherConfig
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DeviceError, InterruptedRunError
from seqkit.foundation.wording import counted
from seqkit.runs import resume
from seqkit.runs.layout import RunFiles

SEARCH = "search.jsonl"
"""The study of a search, in the sweep's folder."""
_THREADS = "OMP_NUM_THREADS"
_GPUS = "CUDA_VISIBLE_DEVICES"
_ERROR = "seqkit: error: "
_TO_SAVE = 90  # seconds before its time limit at which a job of Slurm is asked to save its state
TIME_OVER = signal.SIGUSR1
"""What asks it then; scancel sends SIGTERM."""


@dataclass
class Job:
    """One training of a sweep.

    composed: its config and catalogue; `run_dir` is its own folder.
    words: its own command line, without that folder.
    differing: those of its words that tell it from the other jobs.
    environment: variables that its process gets in addition to those of this one.
    code: its exit code, 0 as long as it did not fail.
    """

    composed: Composed
    words: Sequence[str]
    differing: str
    files: RunFiles
    environment: Mapping[str, str] = field(default_factory=dict)
    outcome: str = "not started"
    code: int = 0

    @classmethod
    def numbered(
        cls, sweep: Path, number: int, composed: Composed, words: Sequence[str], differing: str
    ) -> "Job":
        """The job with this number, which gives the folder of its run in that of the sweep."""
        folder = sweep / str(number)
        config = dataclasses.replace(composed.config, run_dir=str(folder))
        return cls(composed._replace(config=config), words, differing, RunFiles(folder))

    @property
    def name(self) -> str:
        """Its number, from 0."""
        return self.files.path.name

    @property
    def log(self) -> Path:
        """What its process writes: notices, failures and the closing sample."""
        return self.files.path.with_name(f"{self.name}.log")

    @property
    def step(self) -> int:
        """Of its newest checkpoint; 0 without one."""
        return resume.newest_record(self.files.path).get("metrics", {}).get("step") or 0

    @property
    def is_finished(self) -> bool:
        """Whether its run came to its end with these very settings; if in doubt, train decides."""
        try:
            settings = json.loads(self.files.summary.read_bytes())["settings"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return False
        return resume.is_same(self.composed.config, settings)


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
        environment = dict(os.environ)
        if self.queue:  # or srun would keep to the allocation that the sweep itself runs in
            environment = {
                name: value
                for name, value in environment.items()
                if not name.startswith("SLURM_") or name == "SLURM_CONF"
            }
        if self.gpus:
            environment[_GPUS] = self.gpus[slot]
        if self.threads is not None:
            environment[_THREADS] = str(self.threads)
        with disk.reopen(job.log) as log:
            begin = job.log.stat().st_size
            process = subprocess.Popen(
                [*self.queue, *command(job, self.options)],
                env={**environment, **job.environment},
                stdin=subprocess.DEVNULL,
                stdout=log.fileno(),
                stderr=log.fileno(),
                process_group=0,  # a Ctrl-C reaches it through this program, and once
            )
        return Running(process, job.log, begin, job.step, queued=bool(self.queue))


@dataclass(frozen=True)
class Running:
    """The process of a job, what it writes to from `begin` on, and whether srun started it.

    `step` is that of the job's checkpoint when it began.
    """

    process: "subprocess.Popen[bytes]"
    log: Path
    begin: int
    step: int
    queued: bool

    def poll(self) -> tuple[int, str] | None:
        """Its exit code, and what a failure says last; None as long as it did not end.

        What a signal killed may have lacked memory. srun tells of signals by codes above 128.
        """
        code = self.process.poll()
        if code is None:
            return None
        if 0 <= code <= InterruptedRunError.exit_code:
            return code, self._last_words() if code else ""
        name = signal.Signals(-code if code < 0 else code - 128).name
        lack = ", as when memory runs out" if name == "SIGKILL" else ""
        return DeviceError.exit_code, f"its process was killed by {name}{lack}"

    def stop(self, number: signal.Signals) -> None:
        """Ask it to save its state and end."""
        self.process.send_signal(signal.SIGTERM if self.queued else number)

    def _last_words(self) -> str:
        """What the last failure in the log said, if there is one of this start."""
        lines = self.log.read_bytes()[self.begin :].decode("utf-8", "replace").splitlines()
        said = [line.removeprefix(_ERROR) for line in lines if line.startswith(_ERROR)]
        return said[-1] if said else ""


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
        "signal": f"{TIME_OVER.name[3:]}@{_TO_SAVE}",
        "gpus-per-node": 1 if gpu else None,
        "mem": config.memory_gb and f"{config.memory_gb}G",
        "partition": config.partition,
        "account": config.account,
    }
    return ["srun", *(f"--{name}={value}" for name, value in asked.items() if value is not None)]


def gpus(count: int, present: int) -> list[str]:
    """The names of so many GPUs for CUDA_VISIBLE_DEVICES, where CUDA finds `present` ones.

    Raises DeviceError where these are not enough.
    """
    visible = os.environ.get(_GPUS)
    if present < count:
        under = "" if visible is None else f" with {_GPUS}={visible}"
        available = counted(present, "GPU")
        raise DeviceError(f"gpus={count}: this machine has {available}{under}: give fewer")
    names = map(str, range(present)) if visible is None else visible.split(",")
    return [name.strip() for name in names][:count]
