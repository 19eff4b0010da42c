"""Keys of `--multirun`: what starts the jobs of a sweep, and what chooses their settings."""

from dataclasses import dataclass

from seqkit.foundation.settings import option


@dataclass
class LauncherConfig:
    """What starts the jobs of a sweep; all but `kind` is for Slurm."""

    kind: str = option(
        "serial",
        "--multirun: one job after the other (serial), several at once on this machine "
        "(local), or jobs of a Slurm cluster (slurm)",
        choices=("serial", "local", "slurm"),
    )
    partition: str | None = option(None, "slurm: the partition; by default the cluster's own")
    account: str | None = option(None, "slurm: the account that pays")
    minutes: int = option(
        1440,
        "slurm: time limit of a job; one that reaches it is queued again and goes on",
        minimum=1,
    )
    cpus: int = option(4, "slurm: cores of a job", minimum=1)
    memory_gb: int | None = option(
        None, "slurm: memory of a job; by default the cluster's own", minimum=1
    )


@dataclass
class SearchConfig:
    """What chooses the settings of a sweep's jobs."""

    kind: str = option(
        "grid",
        "--multirun: every combination of the values given (grid), or what Optuna tries next in "
        "the ranges given (optuna; needs seqkit[optuna])",
        choices=("grid", "optuna"),
    )
    trials: int = option(20, "optuna: how many settings are tried", minimum=1)
    prune: bool = option(
        True,
        "optuna: end a training that is worse than the median of the others at the same validation",
    )
