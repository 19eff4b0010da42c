"""Where the seconds of a training go, from Return to the prompt: a table, a row for each part.

    python -m benchmarks.timeline recipe=shakespeare train.max_steps=50

trains twice in new processes: `first` with an empty cache, `again` with what that left in it. A
part's seconds are without those of parts within it; what a GPU does is waited for where a loss is
read. The moment is that of the part's beginning, after Return, in the last training.
"""

import importlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

from seqkit import cli, commands
from seqkit.foundation import processes

_PARTS = {
    "the GPU": ["foundation.device:find_device"],
    "data": ["stages.training:read_corpus"],
    "network": ["stages.network:build"],
    "choice of kernels": ["stages.network:execution"],
    "kernels": ["kernels.nvrtc:Kernel.__init__"],
    "the training's tensors": ["training.trainer:Trainer.__init__"],
    "recording of the step": ["training.trainer:Trainer.prepare"],
    "beginning of the run": ["api.run_training:initialise_run_folder"],
    "steps": ["training.trainer:Trainer.update"],
    "waiting for their losses": ["training.trainer:Trainer._mean_loss"],
    "readings": ["training.trainer:Trainer._report", "runs.observers:Records.__call__"],
    "validations": ["training.validation:Validation.validate"],
    "checkpoints": ["runs.observers:Checkpoints.__call__", "runs.saver:Saver.wait"],
    "samples": ["runs.observers:Samples.__call__"],
    "report": ["report.run_page:Report.__call__"],
    "closing sample": ["commands.train:_print_sample"],
}
"""What is told apart once PyTorch is imported, and the functions of seqkit that do it."""
_MARKS = ("the interpreter", "the end of the process")


class Clock:
    """Notes when parts begin and end, by the clock that all processes share."""

    def __init__(self, returned: float) -> None:
        """`returned`: when Return was pressed."""
        self._returned = returned
        self._open: list[float] = []  # seconds of the parts within those that go on
        self.parts: dict[str, list[float]] = {}  # begun, seconds, calls

    def timed(self, part: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time noted; the first step is a part of its own."""

        @wraps(call)
        def run(*given: Any, **named: Any) -> Any:
            begun = time.monotonic()
            self._open.append(0.0)
            try:
                return call(*given, **named)
            finally:
                spent = time.monotonic() - begun
                within = self._open.pop()
                if self._open:
                    self._open[-1] += spent
                first = part == "steps" and "first step" not in self.parts
                self.add("first step" if first else part, begun, spent - within)

        return run

    def add(self, part: str, begun: float, seconds: float) -> None:
        """Note some seconds of a part."""
        own = self.parts.setdefault(part, [begun - self._returned, 0.0, 0])
        own[1] += seconds
        own[2] += 1

    def watch(self, part: str, name: str) -> None:
        """Time a function `module:name` of seqkit wherever it is called by that name."""
        module, _, path = name.partition(":")
        owner: Any = importlib.import_module(f"seqkit.{module}")
        *classes, last = path.split(".")
        for one in classes:
            owner = getattr(owner, one)
        setattr(owner, last, self.timed(part, getattr(owner, last)))


def _train(returned: float, told: Path, words: Sequence[str]) -> None:
    """Be the program, and tell of its parts when it ends."""
    clock = Clock(returned)
    clock.add(_MARKS[0], returned, time.monotonic() - returned)
    load = clock.timed("imports", commands.load)

    def loaded(name: str) -> Any:
        load(name)
        for part, names in _PARTS.items():
            for own in names:
                clock.watch(part, own)
        return load(name)

    commands.load = loaded
    cli._composed = clock.timed("settings", cli._composed)

    end = processes.end

    def tell(code: int) -> None:
        told.write_text(json.dumps({**clock.parts, _MARKS[1]: [time.monotonic() - returned, 0, 1]}))
        end(code)

    processes.end = tell  # type: ignore[assignment]
    sys.argv = ["seqkit", *words]
    importlib.import_module("seqkit.__main__").main()


def timeline(words: Sequence[str], folder: Path, cache: Path) -> dict[str, list[float]]:
    """Begin, seconds and calls of each part of one training, `all` of them last.

    Raises:
        SystemExit: it failed, and has said why.
    """
    told = folder / "parts.json"
    returned = time.monotonic()
    program = [sys.executable, "-m", "benchmarks.timeline", "--within", str(returned), str(told)]
    ended = subprocess.run(
        [*program, f"run_dir={folder / 'run'}", *words],
        env={**os.environ, "SEQKIT_CACHE_DIR": str(cache)},
        stdout=subprocess.DEVNULL,
        check=False,
    )
    whole = time.monotonic() - returned
    if ended.returncode:
        sys.exit(f"timeline: the training ended with {ended.returncode}")
    parts: dict[str, list[float]] = json.loads(told.read_text())
    parts[_MARKS[1]][1] = whole - parts[_MARKS[1]][0]
    rest = whole - sum(seconds for _, seconds, _ in parts.values())
    ordered = dict(sorted(parts.items(), key=lambda row: row[1][0]))
    return ordered | {"all else": [0.0, rest, 1], "all": [0.0, whole, 1]}


def main(words: Sequence[str]) -> None:
    """Print the table of two trainings with these keys."""
    found: dict[str, dict[str, list[float]]] = defaultdict(dict)
    with tempfile.TemporaryDirectory() as name:
        for turn in ("first", "again"):
            folder = Path(name) / turn
            folder.mkdir()
            for part, row in timeline(words, folder, Path(name) / "cache").items():
                found[part][turn] = row
    print(f"{'seconds':24}{'first':>8}{'again':>8}{'calls':>8}{'moment':>8}")
    for part, turns in found.items():
        nothing = [0.0, 0.0, 0]
        first, again = (turns.get(turn, nothing) for turn in ("first", "again"))
        begun, _, calls = turns.get("again", first)
        print(f"{part:24}{first[1]:8.2f}{again[1]:8.2f}{calls:8.0f}{begun:8.2f}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--within"]:
        _train(float(sys.argv[2]), Path(sys.argv[3]), sys.argv[4:])
    else:
        main(sys.argv[1:])
