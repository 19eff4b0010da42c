"""Run by torchrun: after three steps the persistent kernel gives up in the last process.

On a CPU there is no such kernel, and PyTorch updates the weights whatever it says; all else is as
on a GPU.
"""

import torch

from seqkit.foundation import processes
from seqkit.foundation.errors import GaveUpError
from seqkit.foundation.ranks import Ranks, joined
from tests.training.together import made


def check(ranks: Ranks) -> None:
    """See that all processes know of it, and stay where they were."""
    training, word = made(ranks, "cpu"), torch.zeros(1, dtype=torch.int32)
    step = training._step
    step._gave_up = word
    for _ in range(3):
        training.update()
    assert step.take_missing() == 0
    nats, before = step._nats.clone(), step._state.h.clone()
    word.fill_(ranks.rank.number == ranks.rank.size - 1)
    for _ in range(2):
        training.update()
    assert word.item() == 1
    try:
        step.pop_loss_sum()
        raise AssertionError
    except GaveUpError:
        pass
    assert torch.equal(step._nats, nats)
    assert torch.equal(step._state.h, before)
    assert step.take_missing() == 2


if __name__ == "__main__":
    with joined(processes.own_rank()) as joined_ranks:
        check(joined_ranks)
    processes.end(0)
