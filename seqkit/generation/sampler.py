"""The sampler: symbols of S streams side by side, block by block, each stream up to its ending.

An engine makes the steps, and draws what follows with the uniform numbers that it is given. The
sampler knows no model, so that a fake engine of five lines can test it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from seqkit.data.codecs import Codec
from seqkit.foundation.randomness import uniforms_of_streams
from seqkit.generation.sampling import Sampling, draw
from seqkit.model.state import State
from seqkit.symbols import Floats, Integers, Symbols, symbol_dtype

Blocks = Iterator[Integers]
"""Symbols as they are made, in blocks (N, S): the next N of S streams."""
ENDED = -1
"""Stands in a block for the symbols that a stream which has ended no longer has."""
_DRAWN = 1 << 17  # symbols of a block in all streams: it ends soon, so can be shown and stopped


@dataclass(frozen=True)
class Drawing:
    """What an engine is to draw for S streams.

    Attributes:
        symbols: (S,), fed first; then every drawn symbol is fed.
        state: before them.
        draws: blocks (N, S) of numbers, uniform in [0, 1); an engine may read ahead.
        sampling: how to draw.
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

    def sample(self, drawing: Drawing) -> Blocks:
        """Yield blocks (N, S) of drawn symbols, one for each block of draws."""
        ...

    def score(self, symbols: Integers, state: State, labels: Integers) -> tuple[Floats, State]:
        """Feed symbols (N, S): the logits (N, S, V) of what follows each, and the state after.

        `labels` (S,) are as in `Drawing`.
        """
        ...


@dataclass(frozen=True)
class Ending:
    """The symbols after which a stream ends.

    `is_document`: it is the one after the codec's own, which stands for the end of a document. It
    is no part of the sample.
    """

    symbols: tuple[int, ...]
    is_document: bool = False


def sample_blocks(
    engine: Engine,
    logits: Floats,
    state: State,
    length: int,
    sampling: Sampling,
    *,
    labels: Integers,
) -> Blocks:
    """Yield the next `length` symbols of all streams in blocks (N, S).

    The first block is a single symbol, available at once; the others have the engine's size, or
    less of very many streams. Memory does not grow with the length.

    Args:
        engine: makes the steps.
        logits: (S, V), of the first symbol to draw.
        state: after the prompt.
        length: symbols of each stream.
        sampling: how to draw.
        labels: of each stream, (S,): see `Drawing`.
    """
    first = draw(logits, uniforms_of_streams(sampling.seed, range(len(logits)), 0, 1)[0], sampling)
    yield first[None]
    streams = len(logits)
    size = max(1, min(engine.block, _DRAWN // streams))

    blocks = ((begin, min(size, length - begin)) for begin in range(1, length, size))
    draws = (uniforms_of_streams(sampling.seed, range(streams), *block) for block in blocks)
    yield from engine.sample(Drawing(first, state, draws, sampling, labels))


def cut(blocks: Blocks, ending: Ending, streams: int) -> Blocks:
    """Hand on blocks (N, S) in which what follows a stream's ending is `ENDED`.

    No block is taken after all streams have ended, and the last one is as long as the longest.
    """
    before = np.full((len(ending.symbols) - 1, streams), ENDED)
    ended = np.zeros(streams, dtype=bool)
    for block in blocks:
        rows = np.concatenate([before, block])
        is_end = np.ones(block.shape, dtype=bool)  # where an ending has its last symbol
        for offset, symbol in enumerate(ending.symbols):
            is_end &= rows[offset : offset + len(block)] == symbol
        ends = is_end.any(0)
        lengths = np.where(ends, is_end.argmax(0) + (not ending.is_document), len(block))
        lengths[ended] = 0
        ended |= ends
        if longest := lengths.max(initial=0):
            yield np.where(np.arange(longest)[:, None] >= lengths, ENDED, block[:longest])
        if ended.all():
            return
        before = rows[len(block) :]


def without_ended(symbols: Integers) -> Integers:
    """What a stream has of a block: its symbols (N,) up to its end."""
    return np.extract(symbols != ENDED, symbols)


def streams_of(blocks: Iterable[Integers], codec: Codec) -> list[Symbols]:
    """The symbols (n,) of each stream of all blocks (N, S), up to its end; none of no block."""
    kind = symbol_dtype(codec.size)
    pieces = [[without_ended(x).astype(kind) for x in block.T] for block in blocks]
    return [np.concatenate(each) for each in zip(*pieces, strict=True)]
