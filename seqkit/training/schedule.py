"""The learning rate of every step."""

import math

from seqkit.config import OptimizerConfig


def learning_rate(optimizer: OptimizerConfig, step: int, total_steps: int) -> float:
    """Linear warm-up, then what `decayed` says.

    Args:
        optimizer: with the peak rate, the steps of warm-up and the share left at the end.
        step: of the update, counted from 0.
        total_steps: the step at which the rate reaches its end.
    """
    if step < optimizer.warmup_steps:
        return optimizer.lr * (step + 1) / optimizer.warmup_steps
    span = max(total_steps - optimizer.warmup_steps, 1)
    return decayed(optimizer, (step - optimizer.warmup_steps) / span)


def decayed(optimizer: OptimizerConfig, position: float) -> float:
    """The learning rate after the warm-up, at a position of 0 where that ends to 1 at the end.

    Half a cosine down to `final_lr` (Loshchilov and Hutter, 2017), or constant: then an average of
    the weights does what a decay would do (Polyak and Juditsky, 1992; Merity et al., 2018).
    """
    if optimizer.schedule == "constant":
        return optimizer.lr
    cosine = 0.5 * (1 + math.cos(math.pi * min(1.0, position)))
    return optimizer.lr * (optimizer.final_lr + (1 - optimizer.final_lr) * cosine)
