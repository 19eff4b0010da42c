"""Which row of a network's table of conditions a step looks up."""

from typing import Any

from seqkit.conditions import Conditions
from seqkit.config import ModelConfig


def condition_count(config: ModelConfig) -> int:
    """How many rows a network's `StepTables.conditions` has; 0: it reads none."""
    if not config.conditions and not config.labels:
        return 0
    return max(config.conditions, 1) * max(config.label_rows, 1)


def condition_rows(config: ModelConfig, conditions: Conditions) -> Any:
    """The rows (N, S) of that table for what is known of symbols (N, S): tensors, or arrays.

    None: a network of this config has no such table, or nothing is known, which is row 0.
    """
    codes, labels = conditions
    if not condition_count(config) or (codes is None and labels is None):
        return None
    if codes is None or labels is None:
        return codes if labels is None else labels[..., 0]
    return codes * max(config.label_rows, 1) + labels[..., 0]
