"""How a network runs: a value with names that stay the same for ever.

Checkpoints refer to these names. A new kernel gets a new name, and the old ones keep their meaning.
"""

from dataclasses import dataclass
from typing import Any

import torch

from seqkit.config import ModelConfig
from seqkit.foundation.device import DTYPES
from seqkit.lstm import launch

KERNELS = {
    "layerwise": "one call a layer",
    "stacked": "one call for all layers",
    "persistent": "a persistent kernel a layer",
    "grid": "a persistent kernel a layer, without clusters",
    "unrolled": "step by step",
}
"""The kernels that can run the layers, each with what people read of it."""

PERSISTENT = ("persistent", "grid")
"""seqkit's own, in clusters and without: docs/how/kernel.md."""


@dataclass(frozen=True)
class Execution:
    """How a network runs in training.

    Attributes:
        kernel: layerwise (one fused call a layer), stacked (one for all layers), persistent
            (seqkit's own kernel, once a layer), grid (the same without clusters of blocks) or
            unrolled (the equations, step by step).
        precision: fp32, bf16 or fp16.
        lanes: B or more. Lanes beyond B are idle: they fill up the tiles that a GPU works in.
    """

    kernel: str
    precision: str
    lanes: int

    def __post_init__(self) -> None:
        """Raises ValueError: a kernel or precision that is not known here."""
        if self.kernel not in KERNELS or self.precision not in DTYPES:
            raise ValueError(f"no kernel {self.kernel!r} in {self.precision!r}")

    def __str__(self) -> str:
        return f"{self.precision}, {KERNELS[self.kernel]}, {self.lanes} lanes"

    @property
    def dtype(self) -> torch.dtype:
        """Of weights and activations."""
        return DTYPES[self.precision]

    @classmethod
    def from_record(cls, record: Any) -> "Execution | None":
        """Of what a checkpoint keeps; None of all else, as of a kernel of a later version."""
        try:
            return cls(str(record["kernel"]), str(record["precision"]), int(record["lanes"]))
        except (KeyError, TypeError, ValueError, OverflowError):
            return None


def plainest_kernel(config: ModelConfig) -> str:
    """The kernel that runs a network on any device, in any precision."""
    return "unrolled" if config.backend == "unrolled" else "layerwise"


def persistent_kernels(config: ModelConfig) -> list[str]:
    """Those of `PERSISTENT` that run layers of this shape on some GPU: docs/how/kernel.md."""
    widest = {"persistent": launch.WIDEST, "grid": launch.WIDEST_GRID}
    fits = config.cell == "lstm" and config.hidden_size % 64 == 0
    return [kernel for kernel in PERSISTENT if fits and config.hidden_size <= widest[kernel]]


def usable_kernels(config: ModelConfig, *, separators: bool) -> list[str]:
    """The kernels that can train a network on some device, the plainest first.

    `separators`: whether its lanes have separators between documents.
    """
    if config.backend == "persistent":
        return persistent_kernels(config)
    if config.backend == "unrolled":
        return ["unrolled"]
    kernels = ["layerwise"]
    # Between the layers of one call there is no place for dropout, nor for a separator's channel,
    # and of all outputs only the top layer's come out of it.
    if not (any(config.unit_dropout) or config.skip_connections or separators):
        kernels.append("stacked")
    return kernels + (persistent_kernels(config) if config.backend == "auto" else [])
