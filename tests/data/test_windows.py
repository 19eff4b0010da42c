"""Windows of what is read for a step are those that the lanes give."""

import pytest
import torch

from seqkit.data.lanes import Lanes
from tests.data.test_lanes import START, column, part


@pytest.mark.parametrize("device", ["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("lengths", [(61,), (7, 23, 1, 30)])
def test_windows_are_made_of_what_is_read_for_a_step(
    lengths: tuple[int, ...], seed: int | None, device: str
) -> None:
    expected, lanes = (Lanes(part(*lengths), START, 3, 4, seed) for _ in range(2))
    for own in (expected, lanes):
        own.share_out(1, 2)
        own.widen(5)
    lanes.make_windows_on(torch.device(device))
    for step in (0, 1, 2, 2, *range(7, 30), 5):
        read = lanes.fetch(step).to(device)
        window = lanes.window(torch.tensor(step), torch.tensor(lanes.shift(step)), read)
        for name in ("inputs", "targets", "fresh", "resets"):
            found = column(window, name)
            assert found.device.type == device
            assert torch.equal(column(expected.window(step), name), found.cpu())
