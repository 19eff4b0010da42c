"""What a training step reads other than it is, so that a network learns to bear its own errors.

A network that generates reads what it made itself, which is never quite what it learnt from. So a
share of the symbols that it reads is drawn from all, while what it has to predict stays right. And
some lanes read no labels: so `label_strength` knows what the network says without them.

What is drawn is a function of the seed and the step's number, as dropout masks are, and made on the
device: a run that is resumed sees the same, and a CUDA graph can replay it.
"""

import dataclasses

import numpy as np
import torch

from seqkit.data.lanes import Window
from seqkit.training.dropout_masks import dropout_keys, masks, mix

_UNLABELLED, _HELD = 0.1, 8  # share of the time at which no labels are read, in steps of one draw
_SEED = 1 << 40  # what makes the seeds others than that of dropout masks


class InputNoise:
    """Changes what is read of windows whose first lane is the lane `first` of all."""

    def __init__(
        self, share: float, symbols: int, seed: int, device: torch.device, first: int = 0
    ) -> None:
        """A `share` of what is read is drawn from `symbols`."""
        self._share, self._symbols = share, symbols
        self._seed, self._first = seed ^ _SEED, first
        # What a recorded graph reads of the step's number: whose labels, which symbols, as what.
        self._keys = torch.zeros(3, dtype=torch.int32, device=device)

    def set_step(self, step: int) -> None:
        """Draw for this step from now on."""
        held = dropout_keys(self._seed, step // _HELD, 3)[2:]
        keys = np.concatenate([held, dropout_keys(self._seed ^ 2 * _SEED, step, 2)])
        self._keys.copy_(torch.from_numpy(keys), non_blocking=True)

    def __call__(self, window: Window) -> Window:
        """The window as it is read."""
        read, labels = window.inputs, window.labels
        steps, lanes = read.shape
        if labels is not None:
            shape = (lanes,)
            kept = masks(self._keys[:1], shape, _UNLABELLED, torch.float32, self._first)[0] > 0
            labels = labels.where(kept[:, None], 0)
        if self._share:
            lane = torch.arange(
                self._first, self._first + lanes, dtype=torch.int32, device=read.device
            )
            place = torch.arange(steps, dtype=torch.int32, device=read.device)[:, None]
            hashed = mix(lane * steps + place, self._keys[1:, None, None])
            wrong, drawn = ((hashed >> 8) & (2**24 - 1)).float() * 2.0**-24  # in [0, 1)
            read = torch.where(wrong < self._share, (drawn * self._symbols).long(), read)
        return dataclasses.replace(window, inputs=read, labels=labels)
