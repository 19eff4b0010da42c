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
    chooses the weights. If a step makes P symbols, each is predicted from those in its place of the
    K frames before.

    levels: the sample that each symbol stands for, (V,), rising.
    weights: for each of C codes, (C, K), or (C, P, K) for steps of several symbols; the latest
        sample's last.
    """

    levels: Tensor
    weights: Tensor

    @cached_property
    def borders(self) -> Tensor:
        """Half-way from each level to the next, (V - 1,)."""
        return (self.levels[1:] + self.levels[:-1]) / 2

    def __call__(
        self,
        samples: Tensor,
        past: Tensor,
        codes: Tensor | None,
        resets: Tensor | None = None,
        *,
        begun: bool = False,
    ) -> tuple[Tensor, Tensor]:
        """The symbols (N, B, P) that are predicted after samples (N, B, P), and the past after.

        `past` (1, B, P K) came before; `codes` (N, B) are those of what is predicted. Of what came
        up to a separator, of `resets` (N, B), nothing counts after it. If a step is `begun`, what
        is predicted in it, after the past alone, is first of N + 1.
        """
        places, count = samples.shape[-1], self.weights.shape[-1]
        before = past[0].view(-1, places, count).permute(2, 0, 1)
        if resets is not None:
            samples = samples.masked_fill(resets[..., None], 0)
        row = torch.cat([before.to(samples.dtype), samples])  # (K + N, B, P)
        seen = row.unfold(0, count, 1)[int(not begun) :]  # (N, B, P, K)
        if resets is not None:
            document = F.pad(resets.cumsum(0), (0, 0, count, 0))
            same = document.unfold(0, count, 1)[1:] == document[count:, :, None]
            seen = seen.where(same[:, :, None], 0)
        weights = self.weights.view(len(self.weights), places, count)
        weights = weights[0] if codes is None else weights[codes]
        following = torch.bucketize((seen * weights).sum(-1), self.borders)
        return following, seen[-1:].flatten(2).to(past.dtype)
