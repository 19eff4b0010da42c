"""How layers run: a value with names that stay the same for ever.

Checkpoints refer to these names. A new kernel gets a new name, and the old ones keep their meaning.
"""

from dataclasses import dataclass
from typing import Any

import torch

KERNELS = {
    "layerwise": "one call a layer",
    "stacked": "one call for all layers",
    "persistent": "a persistent kernel a layer",
    "grid": "a persistent kernel a layer, without clusters",
    "unrolled": "step by step",
}
"""The kernels that can run the layers, each with what people read of it."""

PERSISTENT = {"persistent": 512, "grid": 1024}
"""Those of our own, in clusters and without (docs/how/kernel.md), and the widest H of each: up to
there registers hold the weights; without clusters some of them are in shared memory."""

DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
"""The names of precisions."""


@dataclass(frozen=True)
class Execution:
    """How layers, and the network around them, run in training.

    Attributes:
        kernel: layerwise (one fused call a layer), stacked (one for all layers), persistent
            (a kernel of our own, once a layer), grid (the same without clusters of blocks) or
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

    @property
    def persistent(self) -> bool:
        """Whether a kernel of our own runs the layers."""
        return self.kernel in PERSISTENT

    @classmethod
    def from_record(cls, record: Any) -> "Execution | None":
        """Of what a checkpoint keeps; None of all else, as of a kernel of a later version."""
        try:
            return cls(str(record["kernel"]), str(record["precision"]), int(record["lanes"]))
        except (KeyError, TypeError, ValueError, OverflowError):
            return None
