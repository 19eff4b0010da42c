"""Protocols of evaluation: from which state each symbol is predicted.

A protocol is a table of segments (S, 3), each a row (warm, begin, end) of places in a part: the
state is zero at `warm`, and the predictions from `begin` to `end` count. Every symbol of the part
counts exactly once; with `spread`, some do. No segment begins within a frame of sound.
"""

import numpy as np

from seqkit.data.corpus import Part
from seqkit.symbols import Integers

LANES = 64
"""Segments that are scored side by side, at most."""

WARM = 256
"""Symbols after which an LSTM's state hardly depends on where it began."""


def streaming(part: Part) -> Integers:
    """Each document from the zero state to its end, the state carried all the way."""
    ends = np.append(part.starts[1:], len(part))
    return np.stack([part.starts, part.starts, ends], axis=1)


def windowed(part: Part, window: int) -> Integers:
    """Windows of `window` symbols, each from the zero state; within a frame none ends."""
    return cut(streaming(part), part.whole_frames(window), warm=0)


def warmed(part: Part) -> Integers:
    """Streaming, approximated: segments that run side by side, each warmed up on 256 symbols.

    Training validates like this. It takes a fraction of the time of `streaming` and agrees with it
    as far as the network forgets what lies further back.
    """
    length = max(-(-len(part) // LANES), WARM)
    warm = part.whole_frames(WARM)
    return cut(streaming(part), part.whole_frames(length), warm=warm)


def spread(part: Part, symbols: int) -> Integers:
    """As `warmed`, of about so many symbols: equal stretches at equal distances over the part."""
    stretches = min(max(symbols // WARM, 1), LANES)
    frame, warm = part.frame, part.whole_frames(WARM)
    length = max(symbols // stretches // frame, 1) * frame
    rows = []
    for number in range(stretches):
        begin = number * len(part) // stretches // frame * frame
        end = min(begin + length, len(part))
        first = int(np.searchsorted(part.starts, begin, side="right")) - 1
        last = int(np.searchsorted(part.starts, end, side="left"))
        starts = part.starts[first:last]  # of the documents that it has a share in
        begins = np.maximum(starts, begin)
        ends = np.append(begins[1:], end)
        rows.append(np.stack([np.maximum(begins - warm, starts), begins, ends], axis=1))
    return np.concatenate(rows)


def cut(documents: Integers, length: int, warm: int) -> Integers:
    """Documents (S, 3) in segments of `length`, warmed up on so many symbols of the same one."""
    first, _, end = documents.T
    counts = -(-(end - first) // length)
    first, end = np.repeat(first, counts), np.repeat(end, counts)
    number = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    begins = first + number * length
    ends = np.minimum(begins + length, end)
    return np.stack([np.maximum(begins - warm, first), begins, ends], axis=1)
