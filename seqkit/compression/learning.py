"""A model that goes on learning while it codes.

After every window of all lanes it learns from the symbols in them, as dynamic evaluation does. An
encoder has just coded these symbols and a decoder has just decoded them, so that both know them:
they make the same updates, to the last bit, and go on with the same weights.
"""

import dataclasses
import math

import torch
from torch import Tensor

from seqkit.config import DynamicConfig
from seqkit.evaluation.dynamic import Learner
from seqkit.model.char_rnn import CharRNN


class Learning:
    """Learns from windows (T, B) of lanes that are read side by side.

    Attributes:
        model: the one that codes, a copy: its weights change where they lie in memory.
    """

    def __init__(
        self, model: CharRNN, settings: DynamicConfig, lanes: int, dtype: torch.dtype
    ) -> None:
        """`settings` are meant for one lane; `dtype` is that of the steps' matrix products."""
        # The gradient of B lanes has an error that is √B times smaller, and there are B times
        # fewer updates.
        rate = min(1.0, settings.rate * math.sqrt(lanes))
        dtype = torch.float32 if dtype == torch.float16 else dtype  # it would lose gradients
        self._learner = Learner(model, dataclasses.replace(settings, rate=rate), dtype)
        self.model = self._learner.model
        self._lanes = lanes

    def forget(self) -> None:
        """Go back to the trained weights."""
        self._learner.forget()

    def begin(self, start: int) -> None:
        """Begin new lanes, with the weights as they are; `start` comes before their symbols."""
        device = self.model.head.weight.device
        self._state = self.model.zero_state(self._lanes)
        self._last = torch.full((1, self._lanes), start, device=device)

    def read(self, symbols: Tensor) -> None:
        """Learn from the next symbols (T, B)."""
        targets = symbols.to(self._last.device)
        inputs = torch.cat([self._last, targets[:-1]])
        _, self._state = self._learner.read(inputs, targets, self._state)
        self._last = targets[-1:].clone()
