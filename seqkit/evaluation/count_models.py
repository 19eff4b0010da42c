"""Models that count which symbol followed which others, and learn as they read.

Both code each symbol s that follows a context u of k symbols of the same document with what was
counted before it, and mix in the shorter contexts: u' is u without its oldest symbol, and p_{-1} is
1 / V. After 2,097,152 symbols they start anew.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from seqkit.data.corpus import Part
from seqkit.symbols import Floats, Integers

_ORDER = 5  # symbols of the longest context of `ngram_bits`
_DISCOUNT = 0.85
_STRENGTHS = (1.0, 64.0, 64.0)  # pseudo-counts of `context_bits`, by order
_INDEX_BITS = 21
_MOST = 1 << _INDEX_BITS  # symbols that are read at a time

_Flags = npt.NDArray[np.bool_]


def context_bits(part: Part, size: int) -> float:
    """The bits per symbol of a model of the last two symbols, of `size` different ones.

        p_k(s|u) = (n(us) + a_k p_{k-1}(s|u')) / (n(u) + a_k)

    n(us) counts how often s followed u, n(u) is the sum over s, and a is 1, 64, 64: a Dirichlet
    prior of each order around the one below (MacKay and Peto, 1995).
    """
    return _bits(part, size, len(_STRENGTHS) - 1, _dirichlet)


def ngram_bits(part: Part, size: int) -> float:
    """The bits per symbol of an interpolated Kneser-Ney model of the last five symbols.

        p_k(s|u) = (max(n_k(us) - d, 0) + d t(u) p_{k-1}(s|u')) / n_k(u)

    t(u) counts the different symbols that followed u, and d is 0.85; where nothing followed u, p_k
    is p_{k-1}. n_5(us) counts how often s followed u, and for shorter contexts in how many longer
    ones it did (Kneser and Ney, 1995; Chen and Goodman, 1999); n_k(u) is the sum over s.
    """
    return _bits(part, size, _ORDER, _kneser_ney)


class _Groups:
    """Places 0 … n-1 with equal keys, brought together and in order."""

    def __init__(self, keys: Integers) -> None:
        """`keys` (n,) are below 2^42."""
        # One number for key and place: sorting numbers is several times faster than an argsort.
        packed = np.sort(keys << _INDEX_BITS | np.arange(len(keys)))
        self._places = (packed & (_MOST - 1)).astype(np.int32)
        keys = packed >> _INDEX_BITS
        self._begins = np.concatenate([[True], keys[1:] != keys[:-1]])

    def first(self) -> _Flags:
        """Which places are the first of their group, (n,)."""
        return self._back(self._begins)

    def numbers(self) -> Integers:
        """The number of each place's group, (n,)."""
        return self._back(np.cumsum(self._begins) - 1)

    def before(self, flags: _Flags) -> Integers:
        """How many places of the same group come before each and have a flag, (n,)."""
        ordered = flags[self._places]
        counts: Integers = np.cumsum(ordered) - ordered
        begins = np.flatnonzero(self._begins)
        return self._back(counts - np.repeat(counts[begins], np.diff(begins, append=len(counts))))

    def _back(self, ordered: npt.NDArray[Any]) -> npt.NDArray[Any]:
        found = np.empty_like(ordered)
        found[self._places] = ordered
        return found


_Mix = Callable[[int, _Groups, _Groups, _Flags, Floats], Floats]
"""What becomes of p_{k-1} (n,): given k, the places by their contexts and by context and symbol,
and which are new in a context that is one symbol longer; in the longest all are."""


def _dirichlet(order: int, contexts: _Groups, pairs: _Groups, new: _Flags, p: Floats) -> Floats:
    every, strength = np.ones_like(new), _STRENGTHS[order]
    mixed: Floats = (pairs.before(every) + strength * p) / (contexts.before(every) + strength)
    return mixed


def _kneser_ney(order: int, contexts: _Groups, pairs: _Groups, new: _Flags, p: Floats) -> Floats:
    del order
    in_all = contexts.before(new)
    own = np.maximum(pairs.before(new) - _DISCOUNT, 0)
    mixed = (own + _DISCOUNT * contexts.before(pairs.first()) * p) / np.maximum(in_all, 1)
    return np.where(in_all > 0, mixed, p)


def _bits(part: Part, size: int, most: int, mix: _Mix) -> float:
    """The bits per symbol of a model with contexts of at most so many symbols."""
    bits = 0.0
    for begin in range(0, len(part), _MOST):
        end = min(begin + _MOST, len(part))
        first = int(np.searchsorted(part.starts, begin, side="right"))
        starts = np.append(begin, part.starts[first : np.searchsorted(part.starts, end)]) - begin
        bits += _bits_of_piece(part.symbols[begin:end].astype(np.int64), starts, size, most, mix)
    return bits / len(part)


def _bits_of_piece(symbols: Integers, starts: Integers, size: int, most: int, mix: _Mix) -> float:
    """The bits of symbols (n,), with documents that start at `starts`, the first at 0."""
    count = len(symbols)
    known = np.arange(count) - np.repeat(starts, np.diff(starts, append=count))
    p: Floats = np.full(count, 1 / size)
    contexts, pairs = _Groups(np.zeros(count, np.int64)), _Groups(symbols)
    for order in range(most):
        # A mark stands where the document has no such symbol.
        older = np.where(known > order, np.roll(symbols, order + 1), size)
        longer = _Groups(contexts.numbers() * (size + 1) + older)
        longer_pairs = _Groups(longer.numbers() * size + symbols)
        p = mix(order, contexts, pairs, longer_pairs.first(), p)
        contexts, pairs = longer, longer_pairs
    p = mix(most, contexts, pairs, np.ones(count, np.bool_), p)
    return -float(np.log2(p).sum())
