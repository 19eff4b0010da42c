"""Folders of runs with just the files that a report reads."""

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from seqkit.config import Config
from seqkit.foundation.run_folders import RunFiles
from tests.runs.test_folder import checkpoint

Leave = Callable[..., Path]


def lines(train: Sequence[float], validation: Sequence[float], steps: int = 1000) -> str:
    """metrics.jsonl of a run of so many steps with these losses, evenly spread."""
    found: list[dict[str, Any]] = []
    for event, losses in (("train", train), ("validate", validation)):
        for number, loss in enumerate(losses, 1):
            step = steps * number // len(losses)
            line = {"event": event, "step": step, "symbols": 10 * step, "seconds": 1.0 * number}
            found.append({**line, "loss": loss})
    return "".join(json.dumps(line) + "\n" for line in sorted(found, key=lambda line: line["step"]))


def keep(run: Path, config: Config) -> None:
    """Leave a checkpoint with these settings."""
    saved = dataclasses.replace(checkpoint(1), config=dataclasses.asdict(config))
    saved.save(RunFiles(run).checkpoint("last"))


@pytest.fixture
def leave(tmp_path: Path) -> Leave:
    """Leave what a run would, with these losses; without a summary it did not finish."""

    def call(
        train: Sequence[float] = (),
        validation: Sequence[float] = (),
        *,
        finished: bool = True,
        steps: int = 1000,
        **about: object,
    ) -> Path:
        files = RunFiles(tmp_path / "run")
        files.samples.mkdir(parents=True)
        config = Config(recipe="shakespeare")
        config.model.hidden_size, config.optimizer.lr = 64, 0.01
        keep(files.path, config)
        files.metrics.write_text(lines(train, validation, steps))
        bits = {"histogram_bits": 4.8, "xz_bits": 3.0}
        known = {"data": {"kind": "text", "name": "a play"}, "baselines": bits, "total_steps": 1000}
        files.about.write_text(json.dumps({**known, **about}))
        if finished:
            files.summary.write_text(f'{{"steps": {steps}}}')
        return files.path

    return call
