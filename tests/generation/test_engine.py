"""The loop asks an engine for one block after the other."""

from collections.abc import Iterator

import numpy as np
import torch

from seqkit.generation.engine import Drawing, generate_blocks
from seqkit.generation.sampling import Sampling
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers

NONE = State(*torch.zeros(3, 0))


class Counting:
    """An engine whose every symbol is one more than the last."""

    block = 16
    steps = 0
    labels: Integers | None = None

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        self.labels, symbols = drawing.labels, drawing.symbols
        for block in drawing.draws:
            self.steps += len(block)
            drawn = (symbols + 1 + np.arange(len(block))[:, None]) % 5
            symbols = drawn[-1]
            yield drawn

    def score(self, symbols: Integers, state: State, labels: Integers) -> tuple[Floats, State]:
        return np.zeros((*symbols.shape, 5), np.float32), state


def test_any_engine_can_be_sampled() -> None:
    first = np.full((2, 5), -50.0)
    first[0, 3] = first[1, 0] = 50.0
    blocks = list(
        generate_blocks(Counting(), first, NONE, 6, Sampling(seed=3), labels=np.zeros(2, int))
    )
    assert len(blocks[0]) == 1, "the first symbol is there at once"
    produced = np.concatenate(blocks)
    assert produced[:, 0].tolist() == [3, 4, 0, 1, 2, 3]
    assert produced[:, 1].tolist() == [0, 1, 2, 3, 4, 0]


def test_nothing_is_made_before_it_is_asked_for() -> None:
    engine = Counting()
    endless = generate_blocks(
        engine, np.zeros((1, 5)), NONE, 10**12, Sampling(), labels=np.zeros(1, int)
    )
    made = sum(len(next(endless)) for _ in range(12))
    assert made == engine.steps + 1
    assert len(next(endless)) == Counting.block


def test_an_engine_is_told_the_labels_of_its_streams() -> None:
    engine, labels = Counting(), np.array([2, 0])
    list(generate_blocks(engine, np.zeros((2, 5)), NONE, 40, Sampling(), labels=labels))
    assert engine.labels is labels
