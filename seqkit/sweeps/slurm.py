"""Jobs of a Slurm cluster, submitted with submitit."""

import contextlib
import importlib.util
import io
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seqkit.config import LauncherConfig
from seqkit.foundation import disk
from seqkit.foundation.errors import ConfigError, DeviceError, StoppedError
from seqkit.sweeps.jobs import Job
from seqkit.sweeps.local import THREADS, Ended, command, last_words, read_status

if TYPE_CHECKING:
    from submitit import Executor
    from submitit.helpers import DelayedSubmission

_FOLDER = ".slurm"
_LOOK = 0.2  # seconds
_TO_SAVE = 60.0  # seconds that a training has to save its state; Slurm gives 90
_REQUEUES = 1000  # of a job that its time limit ends


class Training:
    """A job's training, as the cluster's machine runs it; submitit carries it there."""

    def __init__(self, words: Sequence[str], log: Path, environment: Mapping[str, str]) -> None:
        self._words = words
        self._log = log
        self._environment = environment
        self._process: subprocess.Popen[bytes] | None = None

    def __call__(self) -> int:
        """Train in a process of its own, and give its exit status."""
        before = signal.signal(signal.SIGUSR2, signal.SIG_IGN)  # Slurm sends it to all processes
        with disk.reopen(self._log) as log:
            self._process = subprocess.Popen(
                self._words,
                env={**os.environ, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=log.fileno(),
                stderr=log.fileno(),
            )
        signal.signal(signal.SIGUSR2, before)
        try:
            while (code := self._process.poll()) is None:
                time.sleep(_LOOK)
            return code
        finally:
            self._process.send_signal(signal.SIGTERM)  # if this one is ended, and it is not

    def checkpoint(self) -> "DelayedSubmission":
        """Called when the time limit is near: the state is saved, and the job queued again."""
        from submitit.helpers import DelayedSubmission

        until = time.monotonic() + _TO_SAVE
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            while self._process.poll() is None and time.monotonic() < until:
                time.sleep(_LOOK)
        return DelayedSubmission(Training(self._words, self._log, self._environment))


class Slurm:
    """The cluster's queue."""

    def __init__(
        self,
        config: LauncherConfig,
        slots: int,
        options: Sequence[str],
        *,
        gpus: bool,
        share_cores: bool,
        cluster: str = "slurm",
    ) -> None:
        """Places in the queue.

        Args:
            config: what a job asks for.
            slots: how many jobs are queued at once.
            options: words of the command line that come before a job's own.
            gpus: whether each job gets a GPU.
            share_cores: whether a job's threads are as many as its cores.
            cluster: a name that submitit knows; `local` runs the jobs on this machine.

        Raises:
            ConfigError: submitit is not installed, or there is no Slurm.
        """
        if importlib.util.find_spec("submitit") is None:
            raise ConfigError("launcher=slurm needs submitit: pip install 'seqkit[slurm]'")
        from submitit import SlurmExecutor

        if cluster == "slurm" and SlurmExecutor.affinity() <= 0:
            raise ConfigError("launcher=slurm: no Slurm on this machine (srun is not found)")
        self.slots = slots
        self._options = options
        self._threads = {THREADS: str(config.cpus)} if share_cores else {}
        self._cluster = cluster
        self._executor: Executor | None = None
        asked: dict[str, Any] = {
            "timeout_min": config.minutes,
            "cpus_per_task": config.cpus,
            "gpus_per_node": 1 if gpus else None,
            "mem_gb": config.memory_gb and float(config.memory_gb),
            "slurm_partition": config.partition,
            "slurm_account": config.account,
            "name": "seqkit",
        }
        self._asked = {name: value for name, value in asked.items() if value is not None}

    def start(self, job: Job, slot: int) -> "_Submitted":
        """Put a job into the queue. Raises ConfigError where Slurm refuses it."""
        del slot
        if self._executor is None:
            from submitit import AutoExecutor

            place = job.files.path.parent / _FOLDER
            limits: dict[str, Any] = {f"{self._cluster}_max_num_timeout": _REQUEUES}
            self._executor = AutoExecutor(place, cluster=self._cluster, **limits)
            self._executor.update_parameters(**self._asked)
        return _Submitted(self._executor, job, self._options, {**self._threads, **job.environment})


class _Submitted:
    def __init__(
        self, executor: "Executor", job: Job, options: Sequence[str], environment: Mapping[str, str]
    ) -> None:
        from submitit.core.utils import FailedJobError, FailedSubmissionError

        self._stopped = False
        self._log = job.log.absolute()
        self._begin = self._log.stat().st_size if self._log.exists() else 0
        try:
            with contextlib.redirect_stderr(io.StringIO()):  # submitit says sbatch's errors there
                training = Training(command(job, options), self._log, environment)
                self._job = executor.submit(training)
        except (FailedJobError, FailedSubmissionError) as error:
            said = (str(error).strip().splitlines() or ["sbatch does not say why"])[-1]
            raise ConfigError(f"launcher=slurm: the job was refused: {said}") from error

    def poll(self) -> Ended | None:
        """How it ended; None as long as it did not."""
        from submitit.core.utils import FailedJobError, UncompletedJobError

        if not self._job.done():
            return None
        if self._stopped:  # it may have left no result, for which submitit would wait
            return Ended(StoppedError.exit_code)
        try:
            return read_status(self._job.result(), last_words(self._log, self._begin))
        except (FailedJobError, UncompletedJobError):
            return Ended(
                DeviceError.exit_code, f"it ended without a result: see {self._job.paths.stderr}"
            )

    def stop(self, number: signal.Signals) -> None:
        """Take it off the queue; Slurm sends SIGTERM first."""
        del number
        self._stopped = True
        self._job.cancel()
