"""The loss of training and evaluation."""

import torch
from torch import Tensor
from torch.nn import functional as F

from seqkit.symbols import IGNORED


def cross_entropy(logits: Tensor, targets: Tensor, reduction: str = "mean") -> Tensor:
    """The nats of targets (T, B) under logits (T, B, V), in fp32: mean, sum or (none) each, (T, B).

    Targets that are `IGNORED` do not count.
    """
    shares = torch.log_softmax(logits.flatten(0, -2), -1, dtype=torch.float32)
    nats = F.nll_loss(shares, targets.flatten(), reduction="none")
    if reduction == "none":
        return nats.view(targets.shape)
    return nats.sum() if reduction == "sum" else nats.sum() / (targets != IGNORED).sum()
