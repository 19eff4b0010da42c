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

    assert ranks.everyone("abc"[rank]) == ["a", "b", "c"]
    begun = time.monotonic()
    with ranks.turn(ranks.leads):
        if ranks.leads:
            time.sleep(0.2)
        else:
            assert time.monotonic() - begun > 0.1

    for own in ({"seed": rank // 2}, {} if rank else {"a key of later versions": 1}):
        try:
            ranks.check_same(own)
            assert "seed" in own if rank == 1 else rank == 0
        except ConfigError as error:
            assert rank == 2 or "seed" not in own
            assert "differs from rank 0 and has " in str(error)


if __name__ == "__main__":
    with joined(processes.own_rank()) as three:
        check(three)
    processes.end(0)
