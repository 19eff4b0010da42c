"""How much of a training's time its report takes.

    python benchmarks/report_cost.py [key=value …]

trains with recipe=shakespeare and these keys, and prints the seconds that pass in the observer that
writes about.json and report.html; a figure of docs/performance.md.
"""

import cProfile
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import seqkit
from seqkit.errors import SeqkitError
from seqkit.report import observer


def cost(keys: Sequence[str]) -> tuple[float, float]:
    """The seconds of a whole training, and those of its report."""
    with tempfile.TemporaryDirectory() as name, cProfile.Profile() as profile:
        run = seqkit.train("shakespeare", *keys, f"run_dir={Path(name) / 'run'}")
        elapsed = float(run.summary["elapsed_seconds"])
    calls = [
        entry.totaltime
        for entry in profile.getstats()
        if not isinstance(entry.code, str)
        and entry.code.co_filename == observer.__file__
        and entry.code.co_name == "__call__"
    ]
    return elapsed, sum(calls)


if __name__ == "__main__":
    try:
        total, spent = cost(sys.argv[1:])
    except SeqkitError as error:
        print(f"report_cost: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    print(f"{spent:.2f} s of {total:.1f} s: {spent / total:.2%}")
