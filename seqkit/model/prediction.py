"""A linear prediction of sound, as a network reads it."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F


class Prediction(NamedTuple):
    """A linear prediction of the next sample of sound, which a network reads as a symbol.

    It is the sum of the last K samples times weights, and of the V levels the nearest one (Valin
    and Skoglund, "LPCNet", 2019, feed a network with it). What is told of the next sample chooses
    the weights.

    levels: the sample that each symbol stands for, (V,), rising.
    borders: half-way from each level to the next, (V - 1,).
    weights: for each of C conditions, (C, K), the latest sample's last.
    """

    levels: Tensor
    borders: Tensor
    weights: Tensor

    def __call__(
        self,
        symbols: Tensor,
        past: Tensor,
        conditions: Tensor | None,
        resets: Tensor | None = None,
    ) -> tuple[Tensor, Tensor]:
        """The symbols (T, B) that are predicted after symbols (T, B), and the past after them.

        `past` (1, B, K) came before; `conditions` (T, B) are told. Of what came up to a separator
        nothing counts after it.
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
        weights = self.weights[0] if conditions is None else self.weights[conditions]
        following = torch.bucketize((seen * weights).sum(-1), self.borders)
        return following, seen[-1:].to(past.dtype)
