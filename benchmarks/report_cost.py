"""How much of a training's time its report takes.

    python benchmarks/report_cost.py [key=value …]

trains with recipe=shakespeare and these keys, and prints the seconds that pass in the observer that
writes about.json and report.html; a figure of docs/lab/commands.md.
"""

import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import seqkit
from seqkit.advice.run_page import Report
from seqkit.api import run_training
from seqkit.foundation.errors import SeqkitError
from seqkit.runs.events import Event


def cost(keys: Sequence[str]) -> tuple[float, float]:
    """The seconds of a whole training, and those of its report."""
    spent = 0.0

    class Timed(Report):
        def __call__(self, event: Event) -> None:
            nonlocal spent
            begun = time.perf_counter()
            super().__call__(event)
            spent += time.perf_counter() - begun

    with tempfile.TemporaryDirectory() as name, mock.patch.object(run_training, "Report", Timed):
        run = seqkit.train("shakespeare", *keys, f"run_dir={Path(name) / 'run'}")
        return float(run.summary["elapsed_seconds"]), spent


if __name__ == "__main__":
    try:
        total, spent = cost(sys.argv[1:])
    except SeqkitError as error:
        print(f"report_cost: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    print(f"{spent:.2f} s of {total:.1f} s: {spent / total:.2%}")
