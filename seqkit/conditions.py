"""What a network reads beside the symbols: codes of the sound to come, labels of its document."""

from typing import NamedTuple

import torch
from torch import Tensor


class Conditions(NamedTuple):
    """What is known of symbols (T, B) before they are predicted; 0 is nothing in both.

    codes: of each symbol, (T, B); None: there are no codes.
    labels: of each symbol's document, (T, B, K), a column for each of K labels: the number of its
        value, from 1 on. None: there are no labels.
    """

    codes: Tensor | None = None
    labels: Tensor | None = None

    def to(self, device: torch.device) -> "Conditions":
        """The same on another device."""
        return Conditions(*(None if part is None else part.to(device) for part in self))


NO_CONDITIONS = Conditions()
