"""Every lane is in one share, shares run at the same time, and each keeps to its threads."""

import threading

import pytest
import torch

from seqkit.shards import Shards


@pytest.mark.parametrize(("count", "lanes"), [(1, 5), (2, 5), (3, 3), (4, 32)])
def test_every_lane_is_in_one_share(count: int, lanes: int) -> None:
    shards = Shards(count)
    shares = shards.call(lambda: shards.run(lambda share: list(range(lanes))[share], lanes))
    assert len(shares) == count
    assert [lane for share in shares for lane in share] == list(range(lanes))


def test_shares_run_at_the_same_time() -> None:
    meeting = threading.Barrier(3)
    shards = Shards(3)
    assert len(shards.call(lambda: shards.run(lambda _: meeting.wait(10), 6))) == 3


def test_each_takes_its_part_of_the_threads_and_the_caller_keeps_his() -> None:
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(4)
        shards = Shards(2)
        taken = shards.call(lambda: shards.run(lambda _: torch.get_num_threads(), 4))
        assert taken == [2, 2]
        assert torch.get_num_threads() == 4
    finally:
        torch.set_num_threads(before)


def test_a_failure_reaches_the_caller() -> None:
    def fail(share: slice) -> None:
        if share.start:
            raise ValueError("no")

    shards = Shards(2)
    with pytest.raises(ValueError, match="no"):
        shards.call(lambda: shards.run(fail, 4))
