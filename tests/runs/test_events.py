"""What a person is told of events."""

import dataclasses
from pathlib import Path

from seqkit.runs.events import Finished, Stopped, describe
from seqkit.training.events import CheckpointDue, Validated

FINISHED = Finished(step=9, seconds=62.0, best_loss=1.5, run_dir=Path("runs/a"))


def test_events_that_a_person_is_told_of_have_a_line() -> None:
    validated = Validated(
        step=5, seconds=1.0, loss=1.25, bits_per_symbol=1.8034, improved=False, best_loss=1.2
    )
    part = dataclasses.replace(validated, improved=True, scored=2048, total=1_000_000)
    assert describe(part) == (
        "step 5: validation loss 1.2500 nats, 1.803 bits/symbol, on 0.2 % of the validation part"
    )
    assert describe(FINISHED) == (
        "finished: 9 steps in 1:02; best validation loss 1.5000; "
        "generate with: python -m seqkit generate checkpoint=runs/a"
    )
    names = dataclasses.replace(FINISHED, lines=True)
    assert str(describe(names)).endswith("generate checkpoint=runs/a streams=20")
    assert describe(Stopped(4, "SIGTERM", Path("runs/a"))) == (
        "stopped by SIGTERM at step 4; the state is saved: "
        "go on with: python -m seqkit run_dir=runs/a resume=auto"
    )
    assert describe(CheckpointDue(4)) is None
    with_plug_in = Stopped(4, "SIGTERM", Path("runs/a"), plugins=("mine", "yours"))
    assert str(describe(with_plug_in)).endswith("run_dir=runs/a resume=auto plugins=mine,yours")
