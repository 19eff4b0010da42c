"""Probabilities as integers: whatever the logits are, every symbol can be coded."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from seqkit.compression.rans import TOTAL
from seqkit.compression.steps import bounds_of


@given(st.lists(st.floats(width=32), min_size=1, max_size=50))
def test_any_logits_leave_room_for_every_symbol(logits: list[float]) -> None:
    bounds = bounds_of(torch.tensor([logits, [0.0] * len(logits)]))
    assert (bounds[:, 0] == 0).all()
    assert (bounds[:, -1] == TOTAL).all()
    assert (bounds.diff() >= 1).all()


def test_the_integers_are_the_probabilities() -> None:
    logits = torch.randn((3, 300), generator=torch.Generator().manual_seed(1)) * 4
    shares = bounds_of(logits).diff().double() / TOTAL
    excess = (logits.softmax(-1) * (logits.log_softmax(-1) - shares.log())).sum(-1)  # nats
    assert excess.abs().max() < 1e-5
