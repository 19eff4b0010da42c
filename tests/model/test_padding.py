"""Sizes are rounded to whole tiles, and padding comes last."""

import pytest
import torch

from seqkit.model.padding import nearest, round_up, without_padding


@pytest.mark.parametrize(("size", "up", "near"), [(1, 8, 8), (8, 8, 8), (11, 16, 8), (12, 16, 16)])
def test_sizes_become_multiples(size: int, up: int, near: int) -> None:
    assert (round_up(size, 8), nearest(size, 8)) == (up, near)


def test_padding_is_cut_off_without_a_copy() -> None:
    padded = torch.arange(20.0).view(4, 5)
    cut = without_padding(padded, torch.empty(2, 3))
    assert cut.tolist() == [[0.0, 1.0, 2.0], [5.0, 6.0, 7.0]]
    assert cut.data_ptr() == padded.data_ptr()
