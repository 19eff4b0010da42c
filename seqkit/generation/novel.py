"""Samples that recite their training data: that is told, or they are drawn again from there on."""

from collections.abc import Callable

import numpy as np

from seqkit.data.codecs import Quantiser
from seqkit.evaluation.recited import Index, Recital
from seqkit.foundation.errors import ConfigError
from seqkit.generation.ending import ENDED, streams_of
from seqkit.generation.engine import Blocks
from seqkit.generation.request import SEEDS
from seqkit.symbols import Integers, Symbols

_DRAWS = 100  # of a stream that recites, without coming further
_TOLD = 1 << 22  # symbols of all streams that are looked at, the first ones


def told(
    blocks: Blocks, index: Index | None, prompt: Symbols, tell: Callable[[Recital], object]
) -> Blocks:
    """Hand on every block (N, S) at once; `tell` hears in the end how much of them recites."""
    made, left = list[Integers](), _TOLD
    try:
        for block in blocks:
            yield block
            made += [block] * (left > 0)
            left -= block.size
    finally:
        if index is not None:
            streams = streams_of(made, index.codec)
            if said := index.recital([index.places(stream, prompt) for stream in streams]):
                tell(said)


def redrawn(
    blocks: Blocks, index: Index, prompt: Symbols, draw: Callable[[Symbols, int], Blocks]
) -> Blocks:
    """The streams of blocks (N, S) as one block, once nothing of them recites.

    From where a stream recites on it is drawn again, of sound all of it: `draw` draws what follows
    the prompt and some symbols, with the seed that is so far beyond the first one's, in all
    streams. Raises ConfigError if that is in vain.
    """
    streams, draws = [], 0
    for number, made in enumerate(streams_of(blocks, index.codec)):
        stream, farthest, failed = made, 0, 0
        while (recited := np.flatnonzero(index.places(stream, prompt) >= 0)).size:
            failed = failed + 1 if recited[0] <= farthest else 1
            if failed > _DRAWS:
                raise ConfigError(
                    f"sample.novel=true: in {_DRAWS} draws stream {number + 1} recites its training"
                    " data: give a higher temperature, or train on more data or for less long"
                )
            draws, farthest = draws + 1, max(farthest, int(recited[0]))
            begin = 0 if isinstance(index.codec, Quantiser) else max(recited[0] + 1 - failed, 0)
            rest = streams_of(draw(stream[:begin], draws * SEEDS), index.codec)
            stream = np.concatenate([stream[:begin], *rest[number : number + 1]])
        streams.append(stream.astype(np.int64))
    if most := max(map(len, streams), default=0):
        rows = [np.pad(s, (0, most - len(s)), constant_values=ENDED) for s in streams]
        yield np.stack(rows, 1)
