"""How fast training is on several GPUs: one line of JSON for the shape and the processes given.

    torchrun --standalone --nproc-per-node=2 -m benchmarks.scaling text train.batch_size=256

The shapes and keys are those of `benchmarks.steps`; `train.batch_size` is that of all processes
together. It trains on random symbols as `train` does, with a report every ten steps, and takes the
rates of the reports; `sum_ms` is the sum of gradients alone. docs/measured/scale.md has what it
printed.
"""

import itertools
import json
import sys
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from benchmarks.steps import SHAPES
from benchmarks.training_rows import random_lanes
from seqkit import compose
from seqkit.config import Config
from seqkit.data.corpus import Part
from seqkit.foundation import device, processes
from seqkit.foundation.ranks import Ranks, joined
from seqkit.model.char_rnn import CharRNN
from seqkit.stages.network import choose_execution, task_of
from seqkit.training.events import Trained
from seqkit.training.step import Plan
from seqkit.training.trainer import Trainer

STEPS, WARM = 300, 50


def measured(config: Config, ranks: Ranks, steps: int = STEPS) -> dict[str, Any]:
    """Train for some steps; what this took."""
    chosen = torch.device(device.find_device(config.device, ranks.rank, for_all=True))
    train = config.train
    lanes = random_lanes(config)
    lanes.share_out(ranks.rank.number, ranks.rank.size)
    model = CharRNN(config.model, torch.Generator().manual_seed(config.fixed_seed)).to(chosen)
    precisions = device.candidate_precisions(train.precision, chosen)
    execution = ranks.shared(lambda: choose_execution(task_of(model, lanes), precisions))
    empty = Part(np.zeros(0, np.uint8), np.zeros(0, np.int64))
    plan = Plan(config.optimizer, train, config.fixed_seed, execution)
    trainer = Trainer(model, lanes, empty, plan, ranks=ranks)
    reason = trainer.prepare()
    reports = [event for event in trainer.run() if isinstance(event, Trained)]
    rates = [event.symbols_per_second for event in reports if event.step > min(WARM, steps // 2)]
    middle = float(np.median(rates))
    return {
        "processes": ranks.rank.size,
        "device": device.describe(chosen),
        "batch_size": lanes.batch_size,
        "execution": str(execution),
        "graph": reason or "one",
        "symbols_per_second": round(middle),
        "p10": round(float(np.quantile(rates, 0.1))),
        "p90": round(float(np.quantile(rates, 0.9))),
        "step_ms": round(lanes.batch_size * train.sequence_length / middle * 1000, 3),
        "loss": reports[-1].loss,
        **_sum_alone(trainer, ranks, chosen),
    }


def _sum_alone(trainer: Trainer, ranks: Ranks, chosen: torch.device) -> dict[str, Any]:
    """What the sum of gradients takes: its bytes, and its milliseconds where there is one."""
    gradient = trainer._step.weights.flat_gradient.clone()
    found: dict[str, Any] = {"sum_bytes": gradient.nbytes}
    if ranks.alone:
        return found
    times = []
    for _ in range(20):
        torch.cuda.synchronize(chosen)
        begun = time.perf_counter()
        for _ in itertools.repeat(None, 10):
            ranks.sum(gradient)
        torch.cuda.synchronize(chosen)
        times.append((time.perf_counter() - begun) / 10)
    return found | {"sum_ms": round(float(np.median(times)) * 1000, 3)}


def main(arguments: Sequence[str]) -> None:
    """Print what a shape and keys come to."""
    shape, *keys = arguments
    fixed = [f"train.max_steps={STEPS}", "train.validate_every=0", *SHAPES[shape].split()]
    config = compose.compose([*fixed, *keys], [])
    ranks = joined(processes.own_rank())
    found = measured(config, ranks, config.train.max_steps or STEPS)
    if ranks.leads:
        sys.stdout.write(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
    processes.end(0)
