"""Sound that is played round and round: its end meets its beginning.

More is made than is asked for, so that there is a choice of where the loop begins. Of all pairs of
frames that lie as far apart as it lasts, or a little less, those are taken around which the sound
differs the least to the ear: at rests, or where a note recurs. Where it is decoded, the end goes on
into the beginning. The gains of that fade keep the level, however much the two are alike.
"""

import numpy as np

from seqkit.data.codecs import Codec, Spectral
from seqkit.generation.sampler import ENDED, Blocks
from seqkit.symbols import Integers, symbol_dtype

CHOICE = 2.0
"""Seconds that are made beyond a loop, from which its beginning is chosen."""
SHORTEST = 0.2
"""Seconds."""
_SHORTER = 0.05  # seconds, and at most a tenth, that a loop may be shorter than asked
_SEEN = 3  # frames on each side of a seam that are compared


def looped(blocks: Blocks, codec: Codec, length: int) -> Blocks:
    """A loop of at most `length` symbols from each stream of blocks (N, S), as one block."""
    assert isinstance(codec, Spectral)
    held = [block.astype(symbol_dtype(codec.size)) for block in blocks]
    if held:
        loops = [_loop(stream, codec, length // codec.phases) for stream in np.concatenate(held).T]
        rows = np.full((max(map(len, loops)), len(loops)), ENDED)
        for stream, loop in enumerate(loops):
            rows[: len(loop), stream] = loop
        yield rows


def _loop(symbols: Integers, codec: Spectral, size: int) -> Integers:
    """A loop of about `size` frames from symbols (N,); all of them if they are too few."""
    shorter = min(round(_SHORTER * codec.sample_rate / codec.hop), size // 10)
    rows, best = codec.rows(symbols), (np.inf, 0, len(symbols))
    for count in range(size - shorter, size + 1):
        differing = np.square(rows[count:] - rows[: len(rows) - count]).sum(1)
        around = np.convolve(differing, np.ones(2 * _SEEN), "valid")
        if len(around) and around.min() < best[0]:
            begin = int(around.argmin()) + _SEEN
            best = float(around.min()), begin, begin + count
    return symbols[best[1] * codec.phases : best[2] * codec.phases]
