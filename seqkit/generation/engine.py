"""What an engine does, and the loop that asks it for one block after the other.

An engine feeds S streams side by side and draws what follows with the uniform numbers that it is
given. The loop knows no model, so that a fake engine of five lines can test it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from seqkit.foundation.randomness import uniforms_of_streams
from seqkit.generation.sampling import Sampling, draw
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers

Blocks = Iterator[Integers]
"""Symbols as they are made, in blocks (N, S): the next N of S streams."""

_DRAWN = 1 << 17  # symbols of a block in all streams: it ends soon, so can be shown and stopped


@dataclass(frozen=True)
class Drawing:
    """What an engine is to draw for S streams.

    Attributes:
        symbols: (S,), fed first; then every drawn symbol is fed.
        state: before them.
        draws: blocks (N, S) of numbers, uniform in [0, 1); an engine may read ahead.
        sampling: how to draw, see `sampling.drawn`.
        labels: the choice of labels of each stream, (S,), of a network that has such in place of
            labels (see `NetworkArrays.with_choices`); 0 is none.
    """

    symbols: Integers
    state: State
    draws: Iterable[Floats]
    sampling: Sampling
    labels: Integers


class Engine(Protocol):
    """Generates and scores: one of `engines`."""

    block: int
    """Steps in which it runs fast, and which take less than a moment: people see text appear."""

    def sample(self, drawing: Drawing) -> Iterator[Integers]:
        """Yield blocks (N, S) of drawn symbols, one for each block of draws."""
        ...

    def score(self, symbols: Integers, state: State, labels: Integers) -> tuple[Floats, State]:
        """Feed symbols (N, S): the logits (N, S, V) of what follows each, and the state after.

        `labels` (S,) are as in `Drawing`.
        """
        ...


def generate_blocks(
    engine: Engine,
    logits: Floats,
    state: State,
    length: int,
    sampling: Sampling,
    *,
    labels: Integers,
) -> Iterator[Integers]:
    """Yield the next `length` symbols of all streams in blocks (N, S).

    The first block is a single symbol, available at once; the others have the engine's size, or
    less of very many streams. Memory does not grow with the length.

    Args:
        engine: makes the steps.
        logits: (S, V), of the first symbol to draw.
        state: after the prompt.
        labels: of each stream, (S,): see `Drawing`.
    """
    first = draw(logits, uniforms_of_streams(sampling.seed, range(len(logits)), 0, 1)[0], sampling)
    yield first[None]
    streams = len(logits)
    size = max(1, min(engine.block, _DRAWN // streams))

    blocks = ((begin, min(size, length - begin)) for begin in range(1, length, size))
    draws = (uniforms_of_streams(sampling.seed, range(streams), *block) for block in blocks)
    yield from engine.sample(Drawing(first, state, draws, sampling, labels))
