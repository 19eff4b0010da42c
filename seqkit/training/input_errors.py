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
from seqkit.training.dropout_masks import masks
from seqkit.training.hashed import dropout_keys, hashes, normal, uniform

_SILENT_START, _SILENT = 0.5, 0.07  # share of windows that silence begins: of fresh lanes, others
_GONE = 0.04  # share of the time at which nothing but silence is read
_HELD, _OF_STEP = 7, 3  # keys of what is drawn for some windows, and for each
_UNLABELLED = 0.1  # share of the time at which no labels are read
_SEED = 1 << 40  # what makes their seeds others than that of dropout masks


class InputErrors:
    """Applies `Errors` to windows whose first lane is the lane `first` of all."""

    def __init__(self, errors: Errors, seed: int, device: torch.device, first: int = 0) -> None:
        def table(values: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> Tensor:
            return torch.from_numpy(values).to(device)

        self._errors = errors
        self._seed = seed
        self._first = first
        self._readings = table(errors.readings)
        self._codes = None if errors.codes is None else table(errors.codes)
        self._silence = table(errors.silence)
        self._noise = torch.tensor(errors.noise, device=device)
        # What a recorded graph reads of the step's number.
        self._keys = torch.zeros(_HELD + _OF_STEP, dtype=torch.int32, device=device)

    def set_step(self, step: int) -> None:
        """Draw for this step from now on."""
        seed = self._seed ^ _SEED
        held = dropout_keys(seed, step // self._errors.steps, _HELD)
        keys = np.concatenate([held, dropout_keys(seed ^ 2 * _SEED, step, _OF_STEP)])
        self._keys.copy_(torch.from_numpy(keys), non_blocking=True)

    def __call__(self, window: Window, fresh: Tensor) -> Window:
        """The window as it is read. `fresh` (B,) marks the lanes that start from the zero state."""
        errors, (steps, lanes), device = self._errors, window.inputs.shape, fresh.device
        codes, labels = window.conditions
        if labels is not None:
            key = self._keys[_HELD - 1 : _HELD]
            kept = masks(key, (lanes,), _UNLABELLED, torch.float32, self._first)[0] > 0
            labels = labels.where(kept[:, None], 0)
        if not errors.share:
            return dataclasses.replace(window, conditions=Conditions(codes, labels))
        lane = torch.arange(self._first, self._first + lanes, dtype=torch.int32, device=device)
        drawn = uniform(hashes(self._keys[:-1], lane))
        wrong, size, other, code, unread, gone, _, silent, length = drawn
        wrong = wrong < errors.share

        # Another reading of every symbol, the same for some windows.
        replaced = wrong & (other < errors.replaced)
        others = len(self._readings) - 1
        row = (other / max(errors.replaced, 1e-9) * others).long().clamp(max=others - 1) + 1
        read = self._readings[torch.where(replaced, row, 0), window.inputs]

        # Noise of one size for some windows.
        if any(errors.noise):
            place = torch.arange(steps, dtype=torch.int32, device=device)
            noise = normal(hashes(self._keys[-1:], lane * steps + place[:, None]))[0]
            size = self._noise[(size * len(errors.noise)).long()] * wrong
            read = (read + noise * size).round().long().clamp(0, self._readings.shape[1] - 1)

        # Silence in the place of the beginning of some windows. The first input is before them,
        # and so within a frame if that has several symbols.
        if phases := len(self._silence):
            first = min(phases - 1, 1)
            share = torch.where(fresh, _SILENT_START, _SILENT)
            most = min(errors.silent_steps, steps - first)
            count = (1 + (length * most).long()) // phases * phases * (wrong & (silent < share))
            place = torch.arange(steps, device=device)[:, None] - first
            is_silent = (place >= 0) & (place < count) | wrong & (gone < _GONE)
            read = torch.where(is_silent, self._silence[place % phases], read)

        if codes is not None and self._codes is not None:
            mistaken = self._codes[(code * len(self._codes)).long(), codes]
            mistaken = torch.where(unread < errors.uncoded, 0, mistaken)
            codes = torch.where(wrong, mistaken, codes)
        return dataclasses.replace(window, inputs=read, conditions=Conditions(codes, labels))
