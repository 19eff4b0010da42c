"""Lanes side by side: whatever the logits are, every symbol can be coded, and learnt from."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seqkit.compression.coder import Coder, bounds_of, from_lanes, to_lanes
from seqkit.compression.rans import LEAST, TOTAL
from seqkit.config import DynamicConfig, ModelConfig
from seqkit.model.char_rnn import CharRNN
from seqkit.symbols import Symbols

LEARN = DynamicConfig(rate=0.01, window=3)


def coder(
    cell: str = "lstm",
    hidden: int = 9,
    dtype: torch.dtype = torch.float32,
    learn: DynamicConfig | None = None,
) -> Coder:
    config = ModelConfig(
        cell=cell, hidden_size=hidden, vocabulary_size=6, input="embedding", embedding_size=4
    )
    model = CharRNN(config, torch.Generator().manual_seed(1))
    return Coder(model, 6, start=0, lanes=4, dtype=dtype, learn=learn)


def encoded(own: Coder, symbols: Symbols) -> list[int]:
    states, words = own.encode(symbols, lambda share: None)
    return [*states.tolist(), *words.tolist()]


@pytest.mark.parametrize(
    ("cell", "hidden", "dtype"), [("lstm", 9, torch.float32), ("gru", 768, torch.bfloat16)]
)
def test_steps_run_what_was_learnt(cell: str, hidden: int, dtype: torch.dtype) -> None:
    symbols = np.arange(80, dtype=np.uint8) % 5
    learning = coder(cell, hidden, dtype, LEARN)
    first = encoded(learning, symbols)
    assert first != encoded(coder(cell, hidden, dtype), symbols)
    assert first != encoded(learning, symbols)  # what was learnt stays
    learning.forget()
    assert encoded(learning, symbols) == first


def test_lanes_that_end_early_cost_nothing() -> None:
    states, words = coder().encode(np.zeros(1, np.uint8), lambda share: None)
    assert states[0] > LEAST
    assert (states[1:] == LEAST).all()
    assert not words.size


@given(st.integers(1, 70), st.sampled_from([1, 2, 8, 16]))
def test_lanes_hold_the_symbols_in_order(length: int, lanes: int) -> None:
    symbols = np.arange(length)
    grid = to_lanes(symbols, lanes)
    assert grid.shape == (-(-length // lanes), lanes)
    assert (from_lanes(grid.astype(np.uint8), length) == symbols).all()
    assert (grid[: max(1, length // lanes), 0] == symbols[: max(1, length // lanes)]).all()


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
