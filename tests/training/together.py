"""Run by torchrun: trains a tiny model with all there is, and leaves what came of it in a folder.

    torchrun ... -m tests.training.together DEVICE FOLDER [STATE ...]

Of N processes, N.pt has the state after some steps, and N.json the losses and weights at the end:
of the training that was never stopped, of one that went on from N.pt, and of those that went on
from the other states.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch

from seqkit.foundation import processes
from seqkit.foundation.device import find_device
from seqkit.foundation.ranks import Ranks, joined
from seqkit.training.events import Stepped, Trained, Validated
from seqkit.training.trainer import Trainer
from tests.training.test_restoring import ALL
from tests.training.test_trainer import trainer

STOP = 27
LANES = 6


def made(ranks: Ranks, place: str) -> Trainer:
    """The training, in six lanes: of four processes not all have as many."""
    return trainer(batch=LANES, ranks=ranks, device=place, **ALL)  # type: ignore[arg-type]


def outcome(training: Trainer, keep: Path | None = None) -> dict[str, Any]:
    """Train to the end; the losses that were reported, the weights, and what is not one graph."""
    reason, losses = training.prepare(), []
    for event in training.run():
        if isinstance(event, Trained | Validated):
            losses.append((event.step, event.loss))
        if event == Stepped(STOP) and keep:
            values, tensors = training.state()
            kept = {name: tensor.cpu().clone() for name, tensor in tensors.items()}
            weights = {n: w.cpu().clone() for n, w in training.model.state_dict().items()}
            if training._ranks.leads:
                torch.save((values, kept, weights), keep)
    weights = {name: values.tolist() for name, values in training.model.state_dict().items()}
    return {"losses": losses, "weights": weights, "graph": reason}


def gone_on(training: Trainer, kept: Path) -> dict[str, Any]:
    """The same of a training that goes on from a state."""
    values, tensors, weights = torch.load(kept)
    training.model.load_state_dict(weights)
    training.restore(values, tensors)
    return outcome(training)


def train(
    ranks: Ranks,
    folder: Path,
    others: list[str],
    place: str = "cpu",
) -> None:
    """Leave the files that the module names."""
    own = folder / f"{ranks.rank.size}.pt"
    found = {"straight": outcome(made(ranks, place), own)}
    with ranks.turn(ranks.leads):
        pass  # the state is written
    for kept in [own, *map(Path, others)]:
        found[kept.stem] = gone_on(made(ranks, place), kept)
    if ranks.leads:
        own.with_suffix(".json").write_text(json.dumps(found))


if __name__ == "__main__":
    all_of_them = joined(processes.own_rank())
    own = find_device(sys.argv[1], all_of_them.rank, for_all=True)
    train(all_of_them, Path(sys.argv[2]), sys.argv[3:], str(own))
    processes.end(0)
