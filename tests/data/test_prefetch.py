"""A prefetcher gives the windows that the lanes give."""

import pytest
import torch

from seqkit.data.lanes import Lanes
from seqkit.data.prefetch import Prefetcher
from tests.data.test_lanes import START, column, part


@pytest.mark.gpu
@pytest.mark.parametrize("lengths", [(61,), (7, 23, 1, 30)])
def test_windows_are_fetched_ahead(lengths: tuple[int, ...]) -> None:
    lanes = Lanes(part(*lengths), START, 3, 4)
    lanes.widen(5)
    prefetcher = Prefetcher(lanes, torch.device("cuda"))
    for step in (0, 1, 2, 2, 7, 5):  # after a restart they go on elsewhere
        prefetcher.load(step)
        prefetcher.prefetch(step + 1)
        for name in ("inputs", "targets", "fresh", "resets"):
            expected, found = column(lanes.window(step), name), column(prefetcher.window, name)
            assert torch.equal(expected, found.cpu())
