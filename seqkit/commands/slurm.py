"""Trainings as jobs of Slurm, by submitit; Slurm's SBATCH_* variables say what a job may take."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

from seqkit.foundation.errors import ConfigError, DeviceError

_USUAL = {"job_name": "seqkit", "time": 1440, "cpus_per_task": 4}


class SlurmJob:
    """A command that the cluster runs, its output in a log."""

    def __init__(self, command: Sequence[str], log: Path, *, gpu: bool) -> None:
        """Submit it. Raises ConfigError where there is no cluster."""
        try:
            import submitit

            executor = submitit.SlurmExecutor(log.with_suffix(".slurm"))
            executor.update_parameters(**_USUAL, gpus_per_node=1 if gpu else None)
            words = ["sh", "-c", 'exec "$@" >>"$0" 2>&1', str(log.absolute()), *command]
            with submitit.helpers.clean_env():  # the sweep itself may be a job
                self._job = executor.submit(subprocess.call, words)
        except (ImportError, RuntimeError) as error:
            raise ConfigError(f"launcher=slurm needs Slurm and seqkit[slurm]: {error}") from error

    def poll(self) -> int | None:
        """Its exit code, or that of a device that is gone; None as long as it waits or runs."""
        if not self._job.done():
            return None
        try:
            return int(self._job.result())
        except RuntimeError:  # its node, or its time, is gone
            return DeviceError.exit_code

    def send_signal(self, number: int) -> None:
        """Cancel it, upon which it saves its state."""
        self._job.cancel(check=False)
