"""How much longer trainings take to their first step that are started at once.

    python -m benchmarks.starts_together out=FILE.json together=3 rounds=3 recipe=my_sound

starts `train` with these keys alone, and then so many at once, each in a process of its own, and in
every round anew. The seconds are from the start of Python to the report of step 1, of those at once
of the last one; the ratio is that of their medians. A training that has not begun after `patience=`
seconds, 120 by default, is ended and counts as that many.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LOOK = 0.02  # seconds between looks
_OWN = {"out": "", "together": "3", "rounds": "3", "patience": "120"}


def first_steps(count: int, keys: Sequence[str], folder: Path, patience: float) -> list[float]:
    """Start so many trainings at once; the seconds that each takes to its first step.

    Raises:
        SystemExit: one ended before; it has said why.
    """
    runs = [folder / str(number) for number in range(count)]
    begun = time.perf_counter()
    trainings = [
        subprocess.Popen(
            [sys.executable, "-m", "seqkit", *keys, f"run_dir={run}"], stdout=subprocess.DEVNULL
        )
        for run in runs
    ]
    seconds: dict[Path, float] = {}
    try:
        while len(seconds) < count and (now := time.perf_counter() - begun) < patience:
            for run, training in zip(runs, trainings, strict=True):
                metrics = run / "metrics.jsonl"
                if run not in seconds and metrics.exists() and metrics.stat().st_size:
                    seconds[run] = now
                elif run not in seconds and training.poll() is not None:
                    sys.exit(f"starts_together: a training ended with {training.returncode}")
            time.sleep(_LOOK)
    finally:
        for training in trainings:
            training.kill()
            training.wait()
    return [round(seconds.get(run, patience), 2) for run in runs]


def measured(together: int, rounds: int, keys: Sequence[str], patience: float) -> dict[str, Any]:
    """What all rounds come to; a start before them fills the caches."""
    alone, last, each = list[float](), list[float](), list[list[float]]()
    for number in range(rounds + 1):
        with tempfile.TemporaryDirectory() as folder:
            single = first_steps(1, keys, Path(folder, "alone"), patience)
            if number:
                alone += single
                each.append(first_steps(together, keys, Path(folder, "together"), patience))
                last.append(max(each[-1]))
    ratio = statistics.median(last) / statistics.median(alone)
    cores = len(os.sched_getaffinity(0))
    return {"cores": cores, "alone": alone, "together": each, "ratio": round(ratio, 2)}


def main(arguments: Sequence[str]) -> None:
    """Print what these arguments come to, and write it to the file that they name."""
    split = [word.partition("=") for word in arguments]
    own = _OWN | {name: value for name, _, value in split if name in _OWN}
    keys = [word for word, (name, _, _) in zip(arguments, split, strict=True) if name not in _OWN]
    found = measured(int(own["together"]), int(own["rounds"]), keys, float(own["patience"]))
    line = json.dumps(found)
    print(line)
    if own["out"]:
        Path(own["out"]).write_text(line + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
