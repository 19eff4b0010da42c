"""What a training step leaves out and reads otherwise at random: each a function of its number.

Units, weights, symbols that are read and carried states are left out, as regularisation. And a
network that generates reads what it made itself, which is never quite what it learnt from: so a
share of the symbols that it reads is drawn from all, while what it has to predict stays right. Some
lanes read no labels: so `label_strength` knows what the network says without them.

All is drawn from the seed, the step's number and the layer, so that a run that is resumed sees the
same, and made of 32-bit hashes on the device, so that a CUDA graph can replay it.
"""

import functools
import math
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from seqkit.config import ModelConfig, TrainConfig
from seqkit.data.lanes import Window
from seqkit.lstm import Kernel, KernelError

_THREADS = 256
_INPUT, _STATE, _WEIGHTS = range(3)  # places of keys, after those of the L layers' outputs
_UNLABELLED, _HELD = 0.1, 8  # share of the time at which no labels are read, in steps of one draw
_READING = 1 << 40  # what makes the seeds of what is read others than that of masks


class Noise:
    """The noise of one step; each mask holds for all T steps of its window.

    What is of lanes begins at the lane `first` of all, so that a lane has the same noise wherever
    it runs.
    """

    def __init__(
        self,
        model: ModelConfig,
        train: TrainConfig,
        seed: int,
        device: torch.device,
        first: int = 0,
    ) -> None:
        self._model, self._train, self._seed, self._first = model, train, seed, first
        rates = (*model.unit_dropout, model.input_dropout, model.weight_drop, train.reset_state)
        self._masked, self._read = any(rates), bool(train.input_noise or model.labels)
        self.used = self._masked or self._read
        """Whether there is any."""
        # What a recorded graph reads of the step's number.
        self._keys = torch.zeros(2 * model.num_layers + _WEIGHTS, dtype=torch.int32, device=device)
        self._reading_keys = torch.zeros(3, dtype=torch.int32, device=device)

    def set_step(self, step: int) -> None:
        """Be the noise of this step from now on."""
        if self._masked:
            keys = dropout_keys(self._seed, step, len(self._keys))
            self._keys.copy_(torch.from_numpy(keys), non_blocking=True)
        if self._read:  # whose labels, which symbols, as what
            seed = self._seed ^ _READING
            held = dropout_keys(seed, step // _HELD, 3)[2:]
            keys = np.concatenate([held, dropout_keys(seed ^ 2 * _READING, step, 2)])
            self._reading_keys.copy_(torch.from_numpy(keys), non_blocking=True)

    def units(self, lanes: int, dtype: torch.dtype) -> Tensor | None:
        """Factors (L, B, H) of every layer's output (Gal and Ghahramani, 2016); None: all are 1."""
        rates, shape = self._model.unit_dropout, (lanes, self._model.hidden_size)
        if not any(rates):
            return None
        top, first = len(rates) - 1, self._first
        if rates[0] == rates[top]:
            return masks(self._keys[: top + 1], shape, rates[top], dtype, first)
        below = masks(self._keys[:top], shape, rates[0], dtype, first)
        above = masks(self._keys[top : top + 1], shape, rates[top], dtype, first)
        return torch.cat([below, above])

    def inputs(self, lanes: int, dtype: torch.dtype) -> Tensor | None:
        """Factors (B, X) of the embeddings; None: all are 1."""
        rate, shape = self._model.input_dropout, (lanes, self._model.embedding_size)
        return masks(self._key(_INPUT), shape, rate, dtype, self._first)[0] if rate else None

    def weights(self) -> Tensor | None:
        """Factors (L, G·H, H) of the recurrent weights u of every layer; None: all are 1.

        Weight drop (Merity et al., 2018), which is DropConnect (Wan et al., 2013).
        """
        rate, hidden = self._model.weight_drop, self._model.hidden_size
        keys = self._keys[self._model.num_layers + _WEIGHTS :]
        shape = self._model.gates * hidden, hidden
        return masks(keys, shape, rate, torch.float32) if rate else None

    def fresh(self, window: Window) -> Tensor:
        """The lanes (B,) that begin with the zero state: the window's, and some more.

        Those are drawn as in Melis et al. (2018).
        """
        if not (rate := self._train.reset_state):
            return window.fresh
        shape = (len(window.fresh),)
        drawn = masks(self._key(_STATE), shape, rate, torch.float32, self._first)[0]
        return window.fresh | (drawn == 0)

    def read(self, window: Window) -> Window:
        """The window as it is read."""
        read, labels, keys = window.inputs, window.labels, self._reading_keys
        steps, lanes = read.shape
        if labels is not None:
            shape = (lanes,)
            kept = masks(keys[:1], shape, _UNLABELLED, torch.float32, self._first)[0] > 0
            labels = labels.where(kept[:, None], 0)
        if share := self._train.input_noise:
            last = self._first + lanes
            lane = torch.arange(self._first, last, dtype=torch.int32, device=read.device)
            place = torch.arange(steps, dtype=torch.int32, device=read.device)[:, None]
            hashed = mix(lane * steps + place, keys[1:, None, None])
            wrong, drawn = ((hashed >> 8) & (2**24 - 1)).float() * 2.0**-24  # in [0, 1)
            read = torch.where(wrong < share, (drawn * self._model.symbols).long(), read)
        return window._replace(inputs=read, labels=labels)

    def _key(self, place: int) -> Tensor:
        return self._keys[self._model.num_layers + place][None]


def masks(
    keys: Tensor, shape: tuple[int, ...], rate: float, dtype: torch.dtype, first: int = 0
) -> Tensor:
    """`dropout_masks`, to the bit; on a GPU in one launch, not PyTorch's sixteen."""
    kernel = _kernel(keys.device, dtype) if keys.is_cuda else None
    if kernel is None:
        return dropout_masks(keys, shape, rate, dtype, first)
    drawn = torch.empty((len(keys), *shape), dtype=dtype, device=keys.device)
    count, begin = math.prod(shape), first * math.prod(shape[1:])
    arguments: dict[str, Tensor | float] = {"masks": drawn, "keys": keys, "layers": len(keys)}
    arguments |= {"begin": begin, "count": count}
    arguments |= {"threshold": dropout_threshold(rate), "factor": 1 / (1 - rate)}
    threads = len(keys) * ((begin + count + 1) // 2 - begin // 2)
    kernel.launch(arguments, blocks=-(-threads // _THREADS), threads=_THREADS)
    return drawn


@functools.cache
def _kernel(device: torch.device, dtype: torch.dtype) -> Kernel | None:
    """None with a PyTorch that has no NVRTC."""
    sources = [Path(__file__).with_name("dropout_masks.cu")]
    try:
        return Kernel("dropout_masks", sources=sources, constants={}, device=device, dtype=dtype)
    except KernelError:
        return None


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
    hashed = mix(counter, keys[:, None])
    skipped = begin % 2
    halves = hashed.view(torch.int16)[:, skipped : skipped + count].view(-1, *shape)
    factors = torch.empty(halves.shape, dtype=dtype, device=keys.device)
    torch.ge(halves, dropout_threshold(rate), out=factors)
    return factors.mul_(1 / (1 - rate))


def dropout_threshold(rate: float) -> int:
    """The least of the 16-bit hashes, from -2**15, whose elements are kept."""
    return round(rate * 2**16) - 2**15


def mix(value: Tensor, key: Tensor) -> Tensor:
    """32-bit hashes of numbers (int32); `key` enters midway."""

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
