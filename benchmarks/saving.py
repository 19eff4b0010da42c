"""How long a training waits while its state is saved.

    python benchmarks/saving.py model.num_layers=2 model.hidden_size=1024 train.average=0

sets recipe=shakespeare up with these keys, trains and saves in turn, and prints medians: the size
of a checkpoint; how long it takes until it is on the disk; for how long no step can run, which is
what it takes to copy the state (on a GPU, out of it); how long the same copies take by themselves;
and what all of a save, its writing beside the steps included, adds to the time of the steps. The
folder for temporary files decides which disk it is (TMPDIR).
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from seqkit.compose import compose
from seqkit.foundation.catalogue import Catalogue
from seqkit.foundation.errors import SeqkitError
from seqkit.foundation.ranks import Session
from seqkit.runs.checkpoint import Checkpoint
from seqkit.runs.resume import find_last
from seqkit.runs.saver import Saver
from seqkit.stages.training import Training, set_up

_LONGER = 1.5  # times as long as a save are the steps among which it is made
_FIRST = 20  # steps that are not timed


def report(keys: Sequence[str], rounds: int = 7) -> str:
    """The line that is printed.

    Args:
        keys: of a training.
        rounds: how many saves of each kind.
    """
    with tempfile.TemporaryDirectory() as name:
        words = ["recipe=shakespeare", *keys, f"run_dir={Path(name) / 'run'}"]
        config = compose(words, [])
        with set_up(config, Session(Catalogue(config.plugins), _tell)) as training:
            assert training is not None
            training.trainer.prepare()
            training.claim.folder.make()
            return _measured(training, rounds)


def _measured(training: Training, rounds: int) -> str:
    def steps(count: int) -> None:
        for _ in range(count):
            training.trainer.update()

    def until_written() -> None:
        saver.save(_state(training))
        saver.wait()

    def among_steps() -> None:
        saver.save(_state(training))
        steps(count)

    steps(_FIRST)
    kept = [torch.empty_like(own, device="cpu", pin_memory=own.is_cuda) for own in _all(training)]
    with Saver(training.claim.folder) as saver:
        until_written()  # takes the memory that is kept
        save = statistics.median(_seconds(until_written, training) for _ in range(rounds))
        each = _seconds(lambda: steps(_FIRST), training) / _FIRST
        count = max(1, int(_LONGER * save / each))
        waits, copies, added = [], [], []
        for _ in range(rounds):
            alone = _seconds(lambda: steps(count), training)
            copies.append(_seconds(partial(_copy, _all(training), kept), training))
            waits.append(_seconds(lambda: saver.save(_state(training)), training))
            saver.wait()
            added.append(_seconds(among_steps, training) - alone)
            saver.wait()
    file = training.claim.folder.checkpoint("last")
    assert find_last(training.claim.folder, Catalogue(), _tell) is not None
    wait, copy, lost = map(statistics.median, (waits, copies, added))
    return (
        f"{file.stat().st_size / 1e6:.1f} MB: written after {save:.3f} s; no step can run for "
        f"{wait:.4f} s, the copies alone take {copy:.4f} s; {count} steps take {lost:.3f} s more, "
        f"{max(lost, 0) / 60:.2%} of a minute"
    )


def _state(training: Training) -> Checkpoint:
    """What a training saves, without its settings."""
    values, tensors = training.trainer.state()
    model, codec = training.trainer.model, training.data.corpus.codec
    weights = dict(model.state_dict())
    return Checkpoint(model.config, codec, weights, {}, {}, {}, {}, values, tensors)


def _all(training: Training) -> list[Tensor]:
    state = _state(training)
    return [own.detach() for own in (*state.weights.values(), *state.training_tensors.values())]


def _copy(tensors: Sequence[Tensor], kept: Sequence[Tensor]) -> None:
    for own, copy in zip(tensors, kept, strict=True):
        copy.copy_(own, non_blocking=True)


def _seconds(work: Callable[[], None], training: Training) -> float:
    """How long it takes until work is done, on a GPU, too."""
    _settle(training)
    begun = time.perf_counter()
    work()
    _settle(training)
    return time.perf_counter() - begun


def _settle(training: Training) -> None:
    if training.device.type == "cuda":
        torch.cuda.synchronize()


def _tell(text: str) -> None:
    print(text, file=sys.stderr)


if __name__ == "__main__":
    try:
        print(report(sys.argv[1:]))
    except SeqkitError as error:
        print(f"saving: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
