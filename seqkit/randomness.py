"""Randomness as a function: what is drawn depends on named counters, not on what ran before.

A draw of generation is a function of (seed, stream, position), a dropout mask one of (seed, step,
layer): the same in any order, on any device, in any batch and after any restart.
"""

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

_WORDS = 4  # 64-bit words that Philox4x64 makes of one counter


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


def dropout_mask(
    seed: int,
    step: int | Tensor,
    layer: int,
    shape: tuple[int, ...],
    rate: float,
    device: torch.device,
) -> Tensor:
    """The factors of inverted dropout: 0 with probability `rate`, else 1 / (1 - rate).

    Element i is a 32-bit integer hash of i, keyed by (seed, step, layer), made of the
    multiply-xorshift rounds of C. Wellons' "lowbias32". Only integer operations on tensors are
    used, so that every device computes the same mask and a CUDA graph can replay it with `step`
    (an int, or an int64 tensor of no dimension) as an input.

    Returns:
        float32, of `shape`.
    """
    count = 1
    for size in shape:
        count *= size
    # One hash serves two elements: 16 bits resolve a rate to 0.00002.
    counter = torch.arange((count + 1) // 2, dtype=torch.int32, device=device)
    step = torch.as_tensor(step, dtype=torch.int64, device=device)
    key = torch.zeros_like(step)
    for part in (seed % 2**32, seed // 2**32, step, layer):
        key = _mix(key + part + 1)
    hashed = _mix(counter, key.to(torch.int32))
    halves = hashed.view(torch.int16)[:count].view(shape)
    keep = halves >= round(rate * 2**16) - 2**15
    return keep.to(torch.float32) * (1 / (1 - rate))


def _mix(value: Tensor, key: Tensor | None = None) -> Tensor:
    """One pass of the hash over int32, or over the low 32 bits of int64; `key` enters midway."""
    wide: bool = value.dtype == torch.int64

    low = 0xFFFFFFFF if wide else -1  # the bits of an int64 that count; all of an int32

    def fold(value: Tensor, bits: int) -> Tensor:
        # int32 shifts carry the sign along: what came in from the left is masked away.
        shifted: Tensor = (value >> bits) & (2 ** (32 - bits) - 1)
        return value ^ shifted

    value = fold(value & low, 16) * 0x7FEB352D & low
    if key is not None:
        value = value ^ key
    value = fold(value, 15) * (0x846CA68B - 2**32) & low
    return fold(value, 16)
