"""Any step function can be sampled, block by block."""

import numpy as np
import torch

from seqkit.generation.engine import Stepwise, generate_blocks
from seqkit.generation.sampling import Sampling
from seqkit.model.network import State
from seqkit.symbols import Floats

NONE = State(torch.zeros(0), torch.zeros(0))


def test_any_step_function_can_be_sampled() -> None:
    def step(symbols: np.ndarray, state: State) -> tuple[Floats, State]:
        logits = np.full((len(symbols), 5), -50.0)
        logits[np.arange(len(symbols)), (symbols + 1) % 5] = 50.0
        return logits, state

    first = np.full((2, 5), -50.0)
    first[0, 3] = first[1, 0] = 50.0
    engine = Stepwise(step)
    assert engine.step(np.array([2]), NONE)[0].argmax() == 3
    blocks = list(generate_blocks(engine, first, NONE, 6, Sampling(seed=3)))
    assert len(blocks[0]) == 1, "the first symbol is there at once"
    produced = np.concatenate(blocks)
    assert produced[:, 0].tolist() == [3, 4, 0, 1, 2, 3]
    assert produced[:, 1].tolist() == [0, 1, 2, 3, 4, 0]


def test_nothing_is_made_before_it_is_asked_for() -> None:
    steps = 0

    def step(symbols: np.ndarray, state: State) -> tuple[Floats, State]:
        nonlocal steps
        steps += 1
        return np.zeros((1, 5)), state

    endless = generate_blocks(Stepwise(step), np.zeros((1, 5)), NONE, 10**12, Sampling())
    made = sum(len(next(endless)) for _ in range(12))
    assert made == steps + 1
    assert len(next(endless)) == Stepwise.block
