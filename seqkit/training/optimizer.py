"""The update rules."""

from typing import Any

import torch
from torch import Tensor

from seqkit.config import OptimizerConfig


def make_optimizer(
    config: OptimizerConfig, parameters: list[Tensor], device: torch.device
) -> torch.optim.Optimizer:
    """AdamW, or SGD with momentum; only the matrices decay."""
    groups: list[dict[str, Any]] = [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.dim() == 1], "weight_decay": 0.0},
    ]
    # A CUDA graph reads the rate from the device.
    rate = torch.tensor(config.lr, device=device) if device.type == "cuda" else config.lr
    if config.kind == "sgd":
        sgd = torch.optim.SGD(groups, lr=rate, momentum=config.momentum, fused=True)
        if config.momentum:
            # SGD would take what memory holds if the very first update is left out.
            sgd.state.update({p: {"momentum_buffer": torch.zeros_like(p)} for p in parameters})
        return sgd
    return torch.optim.AdamW(
        groups,
        lr=rate,
        betas=(config.beta1, config.beta2),
        fused=True,
        capturable=device.type == "cuda",
    )
