"""The learning rate of every step."""

import math

from seqkit.config import OptimizerConfig


def learning_rate(optimizer: OptimizerConfig, step: int, total_steps: int) -> float:
    """Linear warm-up, then half a cosine down to `final_lr` (Loshchilov and Hutter, 2017).

    Args:
        optimizer: with the peak rate, the steps of warm-up and the share left at the end.
        step: of the update, counted from 0.
        total_steps: the step at which the rate reaches its end.
    """
    if step < optimizer.warmup_steps:
        return optimizer.lr * (step + 1) / optimizer.warmup_steps
    span = max(total_steps - optimizer.warmup_steps, 1)
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, (step - optimizer.warmup_steps) / span)))
    return optimizer.lr * (optimizer.final_lr + (1 - optimizer.final_lr) * cosine)
