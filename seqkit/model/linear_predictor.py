"""A linear prediction of sound, as a network reads it."""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F


@dataclass(frozen=True)
class LinearPredictor:
    """Predicts the next sample of sound, which a network reads as a symbol.

    The prediction is the sum of the last K samples times weights, and of the V levels the nearest
    one (Valin and Skoglund, "LPCNet", 2019, feed a network with it). The code of the next sample
    chooses the weights.

    levels: the sample that each symbol stands for, (V,), rising.
    weights: for each of C codes, (C, K), the latest sample's last.
    """

    levels: Tensor
    weights: Tensor

    @cached_property
    def borders(self) -> Tensor:
        """Half-way from each level to the next, (V - 1,)."""
        return (self.levels[1:] + self.levels[:-1]) / 2

    def __call__(
        self,
        symbols: Tensor,
        past: Tensor,
        codes: Tensor | None,
        resets: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The symbols (T, B) that are predicted after symbols (T, B), and the past after them.

        `past` (1, B, K) came before; `codes` (T, B) are those of what is predicted. Of what came
        up to a separator nothing counts after it.
        """
        count, samples = self.weights.shape[1], self.levels[symbols]
        if resets is not None:
            samples = samples.masked_fill(resets, 0)
        row = torch.cat([past[0].T.to(samples.dtype), samples])  # (K + T, B)
        seen = row.unfold(0, count, 1)[1:]  # (T, B, K)
        if resets is not None:
            document = F.pad(resets.cumsum(0), (0, 0, count, 0))
            same = document.unfold(0, count, 1)[1:] == document[count:, :, None]
            seen = seen.where(same, 0)
        weights = self.weights[0] if codes is None else self.weights[codes]
        following = torch.bucketize((seen * weights).sum(-1), self.borders)
        return following, seen[-1:].to(past.dtype)
