"""Run by torchrun: three processes do with Ranks all that can be done, and check what they get."""

import time

import torch

from seqkit.foundation import processes
from seqkit.foundation.errors import ConfigError
from seqkit.foundation.ranks import Ranks, joined


def check(ranks: Ranks) -> None:
    rank, size = ranks.rank.number, ranks.rank.size
    assert size == 3
    values = torch.tensor([1.0, float(rank)])
    ranks.sum(values)
    assert values.tolist() == [3.0, 3.0]
    ranks.max(values.fill_(rank))
    assert values.tolist() == [2.0, 2.0]

    assert ranks.first(None) is None
    assert ranks.first("all") == "all"
    assert ranks.first(f"rank {rank}" if rank else None) == "rank 1"
    assert ranks.shared(lambda: f"made by {rank}") == "made by 0"
    clocks = ranks.clock()
    ranks.check_same({"clock": clocks})

    own = torch.full((2, [2, 1, 3][rank], 4), float(rank))
    lanes = ranks.gathered(own)
    assert lanes[1, :, 3].tolist() == [0, 0, 1, 2, 2, 2]

    rounds = list(ranks.rounds(iter(range(rank))))
    assert rounds == [*range(rank), *[None] * (2 - rank)]

    begun = time.monotonic()
    with ranks.turn(ranks.leads):
        if ranks.leads:
            time.sleep(0.2)
        else:
            assert time.monotonic() - begun > 0.1

    try:
        ranks.check_same({"train.lr": 1, "seed": rank // 2})
        raise AssertionError
    except ConfigError as error:
        assert "rank 2 differs from rank 0: it has seed=1, not 0" in str(error)
    try:
        ranks.check_same({} if rank else {"a key of later versions": 1})
        raise AssertionError
    except ConfigError as error:
        assert "it has a key of later versions=None, not 1" in str(error)


if __name__ == "__main__":
    with joined(processes.own_rank()) as three:
        check(three)
    processes.end(0)
