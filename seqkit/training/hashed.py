"""Randomness of training as a function: a dropout mask is one of (seed, step, layer).

As `foundation.randomness`, but made of 32-bit hashes where the network is, on any device.
"""

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor


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
    factors = torch.empty(halves.shape, dtype=dtype, device=keys.device)
    torch.ge(halves, dropout_threshold(rate), out=factors)
    return factors.mul_(1 / (1 - rate))


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
        shifted: Tensor = (value >> bits).bitwise_and_(2 ** (32 - bits) - 1)
        return shifted.bitwise_xor_(value)

    value = fold(value, 16).mul_(0x7FEB352D) ^ key
    return fold(fold(value, 15).mul_(0x846CA68B - 2**32), 16)


def _mix_integer(value: int) -> int:
    """The same hash of one 32-bit number."""
    value = (value ^ value >> 16) * 0x7FEB352D % 2**32
    value = (value ^ value >> 15) * 0x846CA68B % 2**32
    return value ^ value >> 16
