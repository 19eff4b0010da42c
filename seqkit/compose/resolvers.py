"""What recipes may compute of other keys, in the interpolations of OmegaConf.

model.lookback: ${seqkit.samples:20}    20 ms at data.sample_rate
"""

import contextlib
from collections.abc import Iterator

from omegaconf import DictConfig, OmegaConf

_UNKNOWN_RATE = 8000
"""Hertz for which samples are counted if files keep their own rates."""


def samples(milliseconds: float, *, _root_: DictConfig) -> int:
    """How many samples last so long."""
    return round(milliseconds / 1000 * (_root_.data.sample_rate or _UNKNOWN_RATE))


@contextlib.contextmanager
def registered() -> Iterator[None]:
    """Let configs use them in the block."""
    OmegaConf.register_new_resolver("seqkit.samples", samples, replace=True)
    try:
        yield
    finally:
        OmegaConf.clear_resolver("seqkit.samples")
