"""What a training step reads wrong on purpose, so that a network learns to bear its own errors.

A network that generates reads what it made itself, which is never quite what it learnt from. So it
reads a part of its lanes with errors, while what it has to predict stays right. What is drawn is a
function of the seed and the step's number, as dropout masks are, and made on the device: a run that
is resumed sees the same, every pass over the data sees other errors, and a CUDA graph can replay
them.
"""

import dataclasses

import numpy as np
import torch
from torch import Tensor

from seqkit.conditions import Conditions
from seqkit.data.lanes import Window
from seqkit.data.reading_errors import Errors
from seqkit.training.dropout_masks import dropout_keys, hashes, masks, normal, uniform

_SILENT = 0.5  # share of the fresh lanes that begin with silence
_OF_SOME, _OF_STEP = 3, 3  # keys of what is drawn for some windows, and for each step
_UNLABELLED = 0.1  # share of the time at which no labels are read
_SEED = 1 << 40  # what makes their seeds others than that of dropout masks


class InputErrors:
    """Applies `Errors` to windows whose first lane is the lane `first` of all."""

    def __init__(self, errors: Errors, seed: int, device: torch.device, first: int = 0) -> None:
        self._errors = errors
        self._seed = seed
        self._first = first
        self._silence = torch.from_numpy(errors.silence).to(device)
        self._readings: Tensor | None = None
        if errors.readings is not None:
            self._readings = torch.from_numpy(errors.readings).to(device)
        # What a recorded graph reads of the step's number.
        self._keys = torch.zeros(_OF_SOME + _OF_STEP, dtype=torch.int32, device=device)

    def set_step(self, step: int) -> None:
        """Draw for this step from now on."""
        seed = self._seed ^ _SEED
        held = dropout_keys(seed, step // self._errors.steps, _OF_SOME)
        keys = np.concatenate([held, dropout_keys(seed ^ 2 * _SEED, step, _OF_STEP)])
        self._keys.copy_(torch.from_numpy(keys), non_blocking=True)

    def __call__(self, window: Window, fresh: Tensor) -> Window:
        """The window as it is read. `fresh` (B,) marks the lanes that start from the zero state."""
        errors, (steps, lanes), device = self._errors, window.inputs.shape, fresh.device
        codes, labels = window.conditions
        if labels is not None:
            key = self._keys[_OF_SOME - 1 : _OF_SOME]
            kept = masks(key, (lanes,), _UNLABELLED, torch.float32, self._first)[0] > 0
            labels = labels.where(kept[:, None], 0)
        if not errors.share:
            return dataclasses.replace(window, conditions=Conditions(codes, labels))
        lane = torch.arange(self._first, self._first + lanes, dtype=torch.int32, device=device)
        wrong, row, _, silent, length = uniform(hashes(self._keys[:-1], lane))
        wrong, read = wrong < errors.share, window.inputs
        if self._readings is not None:
            row = (row * len(self._readings)).long()
            read = torch.where(wrong, self._readings[row, read], read)
        if errors.noise:
            place = torch.arange(steps, dtype=torch.int32, device=device)
            noise = normal(hashes(self._keys[-1:], lane * steps + place[:, None]))[0]
            noisy = (read + noise * errors.noise).round().long()
            read = torch.where(wrong, noisy.clamp(0, errors.symbols - 1), read)

        # Silence where a lane begins. The first input is before the window, and so within a frame
        # if that has several symbols.
        if phases := len(self._silence):
            first = min(phases - 1, 1)
            most = min(errors.silent_steps, steps - first)
            is_silent = wrong & fresh & (silent < _SILENT)
            count = (1 + (length * most).long()) // phases * phases * is_silent
            place = torch.arange(steps, device=device)[:, None] - first
            read = torch.where((place >= 0) & (place < count), self._silence[place % phases], read)
        return dataclasses.replace(window, inputs=read, conditions=Conditions(codes, labels))
