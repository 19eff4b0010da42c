"""How long a training takes to its first step: a line of JSON for a size of text and each start.

    python -m benchmarks.first_step megabytes=100 recipe=text_large

writes a text of so many megabytes and starts `train` on it three times: `first` reads and encodes
it, `again` finds what that left in the cache, and `cold` the same after the system was told to
forget all these files. Seconds are from the start of Python to the report of step 1; the memory is
the most that the process had (resident, of it `anonymous` without mapped files). What it printed is
in docs/lab/scale.md.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.host_corpus import forget

_LOOK = 0.02  # seconds between looks
_BLOCK = 10_000_000  # characters


def write_text(file: Path, megabytes: float) -> None:
    """A text of random words of 64 characters' alphabet."""
    draw = np.random.default_rng(0)
    letters = np.frombuffer(
        b"abcdefghijklmnopqrstuvwxyz ABCDEFGHIJKLMNOPQRSTUVWXYZ.,;:!?-'\n", "u1"
    )
    left = int(megabytes * 1e6)
    with file.open("wb") as stream:
        block = letters[draw.integers(0, len(letters), min(left, _BLOCK))].tobytes()
        while left > 0:
            left -= stream.write(block[:left])


def started(text: Path, run: Path, keys: Sequence[str], cache: Path) -> dict[str, Any]:
    """Start a training, wait for its first step, and end it.

    Raises:
        SystemExit: it ended before; it has said why.
    """
    words = [f"data.path={text}", f"run_dir={run}", "train.validate_every=0", *keys]
    begun = time.perf_counter()
    training = subprocess.Popen(
        [sys.executable, "-m", "seqkit", *words],
        env={**os.environ, "SEQKIT_CACHE_DIR": str(cache)},
        stdout=subprocess.DEVNULL,
    )
    memory: dict[str, int] = {}
    metrics = run / "metrics.jsonl"
    while training.poll() is None and not (metrics.exists() and metrics.stat().st_size):
        memory = _memory(training.pid, memory)
        time.sleep(_LOOK)
    seconds = time.perf_counter() - begun
    memory = _memory(training.pid, memory)
    training.send_signal(signal.SIGTERM)
    training.wait()
    if not metrics.exists():
        sys.exit(f"first_step: no first step: the training ended with {training.returncode}")
    return {"seconds": round(seconds, 2), **memory}


def _memory(process: int, before: dict[str, int]) -> dict[str, int]:
    """The most megabytes that it has had."""
    try:
        lines = Path(f"/proc/{process}/status").read_text().splitlines()
    except OSError:
        return before
    found = {
        name: int(line.split()[1]) // 1000 for line in lines for name in [line[:6]] if "kB" in line
    }
    own = {"resident_mb": found.get("VmHWM:", 0), "anonymous_mb": found.get("RssAno", 0)}
    return {name: max(value, before.get(name, 0)) for name, value in own.items()}


def measured(megabytes: float, keys: Sequence[str], folder: Path) -> Iterator[dict[str, Any]]:
    """The three starts."""
    text, cache = folder / "text.txt", folder / "cache"
    write_text(text, megabytes)
    for name in ("first", "again", "cold"):
        if name == "cold":
            os.sync()
            for file in (text, *(path for path in cache.rglob("*") if path.is_file())):
                forget(file)
        yield {"start": name, "megabytes": megabytes, **started(text, folder / name, keys, cache)}


def main(arguments: Sequence[str]) -> None:
    """Print what `megabytes=` and keys of `train` come to."""
    given = next((a.partition("=")[2] for a in arguments if a.startswith("megabytes=")), "1")
    keys = [a for a in arguments if not a.startswith("megabytes=")]
    with tempfile.TemporaryDirectory() as folder:
        for line in measured(float(given), keys, Path(folder)):
            sys.stdout.write(json.dumps(line) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1:])
