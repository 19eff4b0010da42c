"""Randomness as a function: what is drawn depends on named counters, not on what ran before.

A draw of generation is a function of (seed, stream, position), a dropout mask one of (seed, step,
layer): the same in any order, on any device, in any batch and after any restart.
"""

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_WORDS = 4  # 64-bit words that Philox4x64 makes of one counter
_MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
_WEYL = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
_MANY, _FEW = 64, 128  # streams, and draws of each: NumPy's own takes 20 us for every stream


def uniforms(seed: int, stream: int, position: int, count: int) -> npt.NDArray[np.float64]:
    """Draws `position` … `position + count - 1` of a stream, uniform in [0, 1).

    Philox4x64-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011) with
    the key (seed, stream): word i of the sequence gives draw i in its upper 53 bits.
    """
    block, skipped = divmod(position, _WORDS)
    # NumPy increments the counter before its first block, so it starts one block below.
    generator = np.random.Philox(key=[seed, stream], counter=(block - 1) % 2**256)
    words = generator.random_raw(skipped + count)[skipped:]
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def uniforms_of_streams(
    seed: int, streams: int, position: int, count: int
) -> npt.NDArray[np.float64]:
    """The draws (count, S) of streams 0 … S - 1, each as `uniforms` has them.

    Of many streams those of one position after the other are made at once.
    """
    if streams < _MANY or count > _FEW:
        return np.stack([uniforms(seed, s, position, count) for s in range(streams)], axis=1)
    first, skipped = divmod(position, _WORDS)
    blocks = np.arange(first, first + -(-(skipped + count) // _WORDS), dtype=np.uint64)
    words = _philox(blocks[:, None], seed, np.arange(streams, dtype=np.uint64))
    words = words.reshape(-1, streams)[skipped : skipped + count]
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def _philox(
    counter: npt.NDArray[np.uint64], seed: int, stream: npt.NDArray[np.uint64]
) -> npt.NDArray[np.uint64]:
    """Philox4x64-10 of counters (N, 1) with the keys (seed, stream (S,)): words (N, 4, S)."""
    words = np.zeros((len(counter), _WORDS, len(stream)), dtype=np.uint64)
    words[:, 0] = counter
    keys = [np.array([seed], dtype=np.uint64), stream]
    for _ in range(10):
        high0, low0 = _products(_MULTIPLIERS[0], words[:, 0])
        high1, low1 = _products(_MULTIPLIERS[1], words[:, 2])
        mixed = (high1 ^ words[:, 1] ^ keys[0], low1, high0 ^ words[:, 3] ^ keys[1], low0)
        words = np.stack(mixed, axis=1)
        keys = [key + np.uint64(step) for key, step in zip(keys, _WEYL, strict=True)]
    return words


def _products(
    factor: int, values: npt.NDArray[np.uint64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    """The high and the low 64 bits of products of 64-bit integers, by products of their halves."""
    half, low_bits = np.uint64(32), np.uint64(2**32 - 1)
    own_high, own_low = np.uint64(factor >> 32), np.uint64(factor & (2**32 - 1))
    high, low = values >> half, values & low_bits
    inner, outer = own_high * low, own_low * high
    carried = ((own_low * low) >> half) + (inner & low_bits) + (outer & low_bits)
    above = own_high * high + (inner >> half) + (outer >> half) + (carried >> half)
    return above, values * np.uint64(factor)


def dropout_keys(seed: int, step: int, count: int) -> npt.NDArray[np.int32]:
    """The keys (count,) of the masks of a training step, those of the L layers first."""
    keys = []
    for layer in range(count):
        key = 0
        for part in (seed % 2**32, seed // 2**32, step, layer):
            key = _mix_integer((key + part + 1) % 2**32)
        keys.append(key)
    return np.array(keys, dtype=np.uint32).view(np.int32)


def dropout_masks(
    keys: Tensor, shape: tuple[int, ...], rate: float, dtype: torch.dtype, first: int = 0
) -> Tensor:
    """The factors of inverted dropout: 0 with probability `rate`, else 1 / (1 - rate).

    Element i of layer l is a 32-bit integer hash of i, keyed by keys[l], made of the
    multiply-xorshift rounds of C. Wellons' "lowbias32". Only integer operations on tensors are
    used, so that every device computes the same mask and a CUDA graph can replay it.

    Args:
        keys: (L,), int32, of `dropout_keys`.
        shape: of one layer's mask.
        rate: the share that is dropped.
        dtype: of the result.
        first: the row of a taller mask that is the first of this one, which is a part of it.

    Returns:
        (L, *shape).
    """
    count = math.prod(shape)
    begin = first * math.prod(shape[1:])
    # One hash serves two elements: 16 bits resolve a rate to 0.00002.
    pairs = begin // 2, (begin + count + 1) // 2
    counter = torch.arange(*pairs, dtype=torch.int32, device=keys.device)
    hashed = _mix(counter, keys[:, None])
    skipped = begin % 2
    halves = hashed.view(torch.int16)[:, skipped : skipped + count].view(-1, *shape)
    keep = halves >= dropout_threshold(rate)
    return keep.to(dtype) * (1 / (1 - rate))


def hashes(keys: Tensor, counters: Tensor) -> Tensor:
    """A 32-bit hash (L, *counters.shape) of each counter (int32) for each of the keys (L,)."""
    return _mix(counters, keys.view(-1, *(1 for _ in counters.shape)))


def uniform(hashed: Tensor) -> Tensor:
    """Hashes as numbers in [0, 1), multiples of 2**-24."""
    return ((hashed >> 8) & (2**24 - 1)).float() * 2.0**-24


def normal(hashed: Tensor) -> Tensor:
    """Hashes as numbers of nearly normal distribution, within ±3.4: the sum of their four bytes."""
    parts = [(hashed >> shift) & 255 for shift in (0, 8, 16, 24)]
    total = torch.stack(parts).sum(0, dtype=torch.float32)
    deviation = math.sqrt(4 * (256**2 - 1) / 12)
    return (total - 4 * 127.5) / deviation


def dropout_threshold(rate: float) -> int:
    """The least of the 16-bit hashes, from -2**15, whose elements are kept."""
    return round(rate * 2**16) - 2**15


def _mix(value: Tensor, key: Tensor) -> Tensor:
    """One pass of the hash over int32; `key` enters midway."""

    def fold(value: Tensor, bits: int) -> Tensor:
        # int32 shifts carry the sign along: what came in from the left is masked away.
        shifted: Tensor = (value >> bits) & (2 ** (32 - bits) - 1)
        return value ^ shifted

    value = (fold(value, 16) * 0x7FEB352D) ^ key
    return fold(fold(value, 15) * (0x846CA68B - 2**32), 16)


def _mix_integer(value: int) -> int:
    """The same hash of one 32-bit number."""
    value = (value ^ value >> 16) * 0x7FEB352D % 2**32
    value = (value ^ value >> 15) * 0x846CA68B % 2**32
    return value ^ value >> 16
