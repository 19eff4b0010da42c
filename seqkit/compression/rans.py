"""The entropy coder: symbols of known probability become words of 32 bits, and the same symbols.

It is rANS (asymmetric numeral systems; Duda, 2013; streaming with words as in Giesen, 2014). A
state x is a number in [2**31, 2**63). A symbol that owns the numbers [lower, lower + width) of the
2**28 that a probability is divided into is put onto it and taken off it by

    put    x' = x // width * 2**28 + lower + x % width
    take   x  = x' // 2**28 * width + x' % 2**28 - lower

A state that would grow too large hands its lower 32 bits to the stream, one that became too small
takes them back. What was put last is taken first, so the encoder works backwards. W states, called
ways, stand side by side and share one stream of words; row r holds the symbols that the ways code
next, and they may depend on all rows before.
"""

import numpy as np
import numpy.typing as npt

from seqkit.symbols import Integers

BITS = 28
"""Widths of all symbols add up to 2**BITS."""
TOTAL = 1 << BITS
LEAST, MOST = 1 << 31, 1 << 63
"""A state is in [LEAST, MOST)."""

States = npt.NDArray[np.uint64]
"""One for each way, (W,)."""
Words = npt.NDArray[np.uint32]
"""What the ways share, (M,)."""


def encode(lowers: Integers, widths: Integers) -> tuple[States, Words]:
    """Code rows (R, W) of spans, each from `lowers` on and `widths` wide.

    A width of TOTAL is a symbol that is certain and costs nothing; its lower bound is 0.

    Returns:
        The states from which a decoder starts, and the words in the order in which it takes them.
    """
    states = np.full(lowers.shape[1], LEAST, np.uint64)
    begins, sizes = lowers.astype(np.uint64), widths.astype(np.uint64)
    limits = sizes << np.uint64(63 - BITS)
    bits, shift, low = np.uint64(BITS), np.uint64(32), np.uint64(0xFFFFFFFF)
    taken = []
    for begin, size, limit in zip(begins[::-1], sizes[::-1], limits[::-1], strict=True):
        full = states >= limit
        if full.any():
            taken.append((states[full] & low).astype(np.uint32))
            states = np.where(full, states >> shift, states)
        quotients, rests = np.divmod(states, size)
        states = (quotients << bits) + begin + rests
    return states, np.concatenate([np.zeros(0, np.uint32), *reversed(taken)])


class Decoder:
    """Takes back what `encode` put, row by row."""

    def __init__(self, states: States, words: Words) -> None:
        """Both as `encode` returned them; states are in [LEAST, MOST)."""
        self._states = states.astype(np.int64)
        self._words = words.astype(np.int64)
        self._next = 0
        self._ways = np.arange(len(states))

    def take(self, bounds: Integers) -> Integers:
        """The next symbols (W,), given where their spans begin, and the last ends: (W, V + 1)."""
        slots = self._states & (TOTAL - 1)
        symbols: Integers = np.count_nonzero(bounds[:, 1:] <= slots[:, None], axis=1)
        lowers = bounds[self._ways, symbols]
        widths = bounds[self._ways, symbols + 1] - lowers
        states = (self._states >> BITS) * widths + (slots - lowers)
        if (small := np.flatnonzero(states < LEAST)).size:
            words = self._words[self._next : self._next + small.size]
            self._next += small.size
            # A stream that ends too early decodes to nonsense, which the checksum tells.
            small = small[: words.size]
            states[small] = (states[small] << 32) | words
        self._states = states
        return symbols
