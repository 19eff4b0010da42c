"""Codes without a checkpoint: by counts of what followed, and by learnt weights for them.

Every symbol has 15 contexts: the last one to six bytes; the word so far, alone, with the word
before, with two; the column; the last two marks (of punctuation); the shape of what came last (a
run of small letters, a capital, a digit, a mark), alone and with the last byte; and of this lane
alone, whose text is about something, the last four bytes, and the word so far. For each, a hashed
table counts what followed. The orders 1 to 5 count only what the next longer one had not seen
(update exclusion).

The contexts of bytes, and those of words after orders 1 and 2, are each blended to a distribution
p: from the shortest to the longest, a share of every count goes to the shorter ones (absolute
discounting). The logit of symbol v, in bits, is

    sum over contexts k of  w_k E_k[count of v, total, distinct symbols]  +  sum of w_j log2 p_j(v)

E is a table of classes, and w the sum of three rows of another, which the last symbol and the
contexts choose. Adam learns both from every few steps. (Logistic mixing: Mahoney's PAQ.)

A machine's rounding does not matter: operations are + - * / and the square root, sums have a fixed
order, exponents and logarithms are looked up.
"""

import numpy as np
from torch import Tensor

from seqkit.compression.coder import BlockCoder, Watch
from seqkit.compression.rans import TOTAL
from seqkit.symbols import Floats, Integers

_ORDERS, _CONTEXTS = 6, 15
_CHAINS = (2, 3, 4, 5), (6, 7, 8)  # contexts that are blended, after 0 and 1
_TERMS = _CONTEXTS + len(_CHAINS)
_WINDOW = 8  # steps between two updates
_DISCOUNT = 0.9
_RATES = 0.02, 0.007  # of E, of w
_CONSTANT = 300  # updates before the rate falls as 1 / sqrt
_DECAYS = 0.9, 0.999  # Adam's
_MOST_ROWS, _MOST_COUNTS = 1 << 23, 1 << 30
_SMALL, _CAPITAL, _DIGIT = 1, 2, 3  # kinds of bytes; each of the others is one of its own
_SHAPE = np.uint64((1 << 56) - 1)  # the last eight kinds, in 7 bits each
_PRIME, _LANE = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_FINE = 1 << 12  # steps of the tables of exponents and logarithms to a factor of 2
_EXPONENTS: Floats = np.round(np.exp2(np.arange(_FINE) / _FINE), 12)
_LOGARITHMS: Floats = np.round(np.log2((np.arange(_FINE) + 0.5 + _FINE) / _FINE), 12) - 1
_OF_COUNT = np.array([1, 2, 3, 4, 6, 10, 16, 25, 40, 64, 101])  # where classes begin
_OF_TOTAL = np.array([1, 2, 3, 4, 8, 16, 32, 64, 128])
_OF_KINDS = np.array([1, 2, 3, 5, 10])
_COUNTS, _TOTALS, _KINDS = (len(edges) + 1 for edges in (_OF_COUNT, _OF_TOTAL, _OF_KINDS))


class Mixer(BlockCoder):
    """Codes blocks of symbols that stand for bytes. All lanes share the tables."""

    def __init__(self, known: bytes, lanes: int, size: int) -> None:
        """`known` are the bytes of the V symbols, `size` is how many will be read."""
        super().__init__(len(known), lanes, probed=64)
        self._bytes = np.frombuffer(known, np.uint8).astype(np.uint64)
        folded = known.lower().replace(b"\n", b" ")
        self._folded = np.frombuffer(folded, np.uint8).astype(np.uint64)
        self._letters = np.array([byte >= 0x80 or chr(byte).isalpha() for byte in known])
        self._shapes = np.array([*map(_kind, known)], np.uint64)
        rows = min(_MOST_ROWS, max(1 << 12, 16 * size), _MOST_COUNTS // len(known))
        self._bits = rows.bit_length() - 1
        self.forget()

    def forget(self) -> None:
        self._counts = np.zeros((1 << self._bits, self._size), np.uint8)
        self._totals, self._kinds = np.zeros((2, 1 << self._bits), np.int64)
        e = np.round([0.0, *0.4 * np.log2(10 * _OF_COUNT + 1)], 9)
        e = np.tile(e, _CONTEXTS * _TOTALS * _KINDS)
        w = np.repeat([0.1, 0.12], [_CONTEXTS, len(_CHAINS)])
        w = np.tile(w, _ORDERS + 1 + self._size + 4 * _TOTALS)
        self._weights, self._of_e = np.concatenate([e, w]), len(e)
        self._rates = np.repeat(_RATES, [len(e), len(w)])
        self._gradient, self._mean, self._square = np.zeros((3, len(self._weights)))
        self._updates, self._faded = 0, np.ones(2)

    def _begin(self) -> None:
        self._recent = np.zeros((_ORDERS, self._lanes), np.uint64)
        self._words = np.zeros((3, self._lanes), np.uint64)
        self._column, self._marks, self._shape = np.zeros((3, self._lanes), np.uint64)
        self._last = np.zeros(self._lanes, np.int64)

    def _predicted(self, index: int) -> Integers:
        v, b = self._size, self._lanes
        self._rows = rows = self._hashed()
        counts, totals, kinds = self._counts[rows], self._totals[rows], self._kinds[rows]
        flat = np.flatnonzero(counts)
        seen, of = counts.ravel()[flat].astype(np.int64), flat // v  # of: context * B + lane
        classes = _OF_TOTAL.searchsorted(totals, "right")
        states = np.arange(_CONTEXTS)[:, None] * _TOTALS + classes
        states = states * _KINDS + _OF_KINDS.searchsorted(kinds, "right")
        self._places = states.ravel()[of] * _COUNTS + _OF_COUNT.searchsorted(seen, "right")
        words = classes[6] + _TOTALS * (totals[7] > 0) + 2 * _TOTALS * (kinds[4] == 1)
        known = (totals[:_ORDERS] > 0).sum(0)
        self._chosen = np.stack([known, _ORDERS + 1 + self._last, _ORDERS + 1 + v + words])
        weights = self._weights[self._of_e :].reshape(-1, _TERMS)[self._chosen].sum(0)
        self._cells, self._terms = flat % (b * v), of % b * _TERMS + of // b
        self._strengths, self._used = self._weights[self._places], weights.ravel()[self._terms]
        logits = np.zeros((b, v))
        logits += np.bincount(self._cells, self._strengths * self._used, b * v).reshape(b, v)

        parts = np.zeros((_CONTEXTS, b, v))
        parts.ravel()[flat] = (seen - _DISCOUNT) / totals.ravel()[of]
        rest = np.where(totals, _DISCOUNT * kinds / np.maximum(totals, 1), 1.0)[:, :, None]
        base = parts[1] + rest[1] * (parts[0] + rest[0] / v)
        self._blends = []
        for number, chain in enumerate(_CHAINS, _CONTEXTS):
            blend = base
            for context in chain:
                blend = parts[context] + rest[context] * blend
            self._blends.append(_log2(np.maximum(blend, 1e-9)))
            logits += weights[:, number, None] * self._blends[-1]
        shares = _exp2(logits - logits.max(1, keepdims=True))
        self._shares = shares / shares.sum(1, keepdims=True)
        bounds = np.zeros((b, v + 1), np.int64)
        np.cumsum((self._shares * (TOTAL - v)).astype(np.int64) + 1, 1, out=bounds[:, 1:])
        bounds[:, -1] = TOTAL
        return bounds

    def _follow(self, symbols: Tensor, index: int, watch: Watch) -> None:
        if index % _WINDOW == 0:
            watch((index + 1) / len(symbols))
        if index + 1 == len(symbols):  # the last step has padding
            return
        row = symbols[index].numpy()
        self._count(row)
        self._move(row)
        errors = self._shares
        errors[np.arange(self._lanes), row] -= 1
        wrong, count = errors.ravel()[self._cells], self._lanes * _TERMS
        of_w = self._gradient[self._of_e :].reshape(-1, _TERMS)
        self._gradient[: self._of_e] += np.bincount(self._places, wrong * self._used, self._of_e)
        each = np.zeros((self._lanes, _TERMS))
        each += np.bincount(self._terms, wrong * self._strengths, count).reshape(each.shape)
        for number, blend in enumerate(self._blends, _CONTEXTS):
            each[:, number] = (errors * blend).sum(1)
        for rows in self._chosen:
            np.add.at(of_w, rows, each)
        if index % _WINDOW == _WINDOW - 1:
            self._descend(self._gradient / (_WINDOW * self._lanes))
            self._gradient[:] = 0

    def _count(self, symbols: Integers) -> None:
        """Count what symbols (B,) followed."""
        seen = self._counts[self._rows, symbols]
        counted = np.ones(seen.shape, bool)
        counted[: _ORDERS - 1] = seen[1:_ORDERS] == 0
        rows, seen = self._rows[counted], seen[counted]
        full = rows[seen == 255]
        self._counts[full] -= self._counts[full] // 2
        self._totals[full] = self._counts[full].sum(1)
        self._kinds[rows] += seen == 0
        self._totals[rows] += 1
        self._counts[rows, np.broadcast_to(symbols, counted.shape)[counted]] += 1

    def _hashed(self) -> Integers:
        """The rows of the tables of all contexts (contexts, B)."""
        hashes = np.zeros((_CONTEXTS + 1, self._lanes), np.uint64)
        for order, symbol in enumerate(self._recent):
            hashes[order + 1] = (hashes[order] + symbol + np.uint64(1)) * _PRIME
        now, before, earlier = self._words
        hashes[7] = now * _PRIME + self._folded[self._last]
        hashes[8] = hashes[7] + before * np.uint64(31)
        hashes[9] = hashes[8] + earlier * np.uint64(1023)
        own, last = np.arange(self._lanes, dtype=np.uint64) * _LANE, self._recent[0]
        hashes[10] = self._column * np.uint64(256) + last
        hashes[11] = (self._marks * np.uint64(256) + last) * _PRIME
        hashes[12] = self._shape * _PRIME
        hashes[13] = hashes[12] * np.uint64(256) + last * _PRIME
        hashes[14:] = hashes[[4, 7]] + own
        hashes += np.arange(_CONTEXTS + 1, dtype=np.uint64)[:, None] << np.uint64(40)
        hashes ^= hashes >> np.uint64(29)
        return (hashes[1:] * _PRIME >> np.uint64(64 - self._bits)).astype(np.int64)

    def _move(self, symbols: Integers) -> None:
        """What comes next stands after these symbols (B,)."""
        self._last, letter = symbols, self._letters[symbols]
        self._recent = np.concatenate([self._bytes[symbols][None], self._recent[:-1]])
        now, before, earlier = self._words
        ended, longer = ~letter & (now != 0), (now + self._folded[symbols]) * _PRIME
        self._words = np.where(ended, [now, now, before], [longer, before, earlier])
        self._words[0] *= letter
        kind = self._shapes[symbols]
        small = (kind == _SMALL) & (self._shape % np.uint64(128) == _SMALL)
        self._shape = np.where(small, self._shape, (self._shape << np.uint64(7) | kind) & _SHAPE)
        mark = (kind > _DIGIT) & (kind != ord(" "))
        marks = (self._marks << np.uint64(8) | kind) & np.uint64(0xFFFF)
        self._marks = np.where(mark, marks, self._marks)
        line = self._recent[0] == ord("\n")
        self._column = np.where(line, 0, np.minimum(self._column + np.uint64(1), 255))

    def _descend(self, gradient: Floats) -> None:
        """Adam's step."""
        self._updates += 1
        self._faded *= _DECAYS
        first, second = 1 - self._faded
        self._mean += (1 - _DECAYS[0]) * (gradient - self._mean)
        self._square += (1 - _DECAYS[1]) * (gradient * gradient - self._square)
        rate = np.sqrt(min(1.0, _CONSTANT / self._updates)) / first * self._rates
        self._weights -= rate * self._mean / (np.sqrt(self._square / second) + 1e-8)


def _kind(byte: int) -> int:
    """The kind of a byte, below 128: of letters and digits a common one."""
    character = chr(byte)
    if byte >= 0x80 or character.islower():
        return _SMALL
    return _CAPITAL if character.isupper() else _DIGIT if character.isdigit() else byte


def _exp2(bits: Floats) -> Floats:
    """2 ** bits, rounded to a fine grid; bits are at most 0."""
    fine = np.rint(np.maximum(bits, -60.0) * _FINE).astype(np.int64)
    shares: Floats = np.ldexp(_EXPONENTS[fine % _FINE], fine // _FINE)
    return shares


def _log2(shares: Floats) -> Floats:
    """The logarithm of shares above 0, on a fine grid."""
    mantissas, exponents = np.frexp(shares)
    places = (mantissas * (2 * _FINE)).astype(np.int64) - _FINE
    bits: Floats = _LOGARITHMS[places] + exponents
    return bits
