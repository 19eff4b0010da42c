"""Where a sample ends before its length: after a text that it writes, or with its document."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from seqkit.data.codecs import Codec
from seqkit.generation.engine import Blocks
from seqkit.symbols import Integers, Symbols, symbol_dtype

ENDED = -1
"""Stands in a block for the symbols that a stream which has ended no longer has."""


@dataclass(frozen=True)
class Ending:
    """The symbols after which a stream ends.

    `is_document`: it is the one after the codec's own, which stands for the end of a document. It
    is no part of the sample.
    """

    symbols: tuple[int, ...]
    is_document: bool = False


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
