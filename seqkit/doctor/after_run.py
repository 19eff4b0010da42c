"""How a run went: the sentences of its page, and the numbers that they stand on."""

from pathlib import Path
from typing import Any

from seqkit.report.baselines import baselines
from seqkit.report.verdict import judge
from seqkit.runs import record
from seqkit.runs.known import require_run


def of(path: Path) -> dict[str, Any]:
    """What is to be said of the run in a folder, as JSON values; see docs/doctor.md.

    Raises:
        CheckpointError: there is no run, or the folder cannot be read.
    """
    require_run(path)
    found = record.read(path)
    verdict, metrics = judge(found), found.metrics
    step, loss = found.best or (None, None)
    return {
        "run_dir": str(path),
        "state": found.state,
        "step": metrics.step,
        "train_seconds": metrics.seconds,
        "best_validation_loss": loss,
        "best_step": step,
        "last_validation_loss": None if loss is None else float(metrics.validation.values[-1]),
        "baselines": {baseline.brief: baseline.nats for baseline in baselines(found)},
        "finding": verdict.finding,
        "advice": verdict.advice,
        "command": verdict.command or None,
        "problems": found.problems,
    }
