"""Keys of what a trained network does: generation, and learning from what it reads."""

from dataclasses import dataclass

from seqkit.config.data import HIGHEST_RATE
from seqkit.foundation.settings import option

TEMPERATURE = 0.8
"""Of samples, where neither the command line nor a recipe has one."""


@dataclass
class SampleConfig:
    """How symbols are generated."""

    engine: str = option(
        "auto",
        "what runs the network; auto takes the fastest that computes in fp32",
        choices=("auto", "torch", "cuda_graph", "fused", "onnx"),
    )
    precision: str = option(
        "auto",
        "precision of generation; auto is fp32, unless the chosen engine has only another",
        choices=("auto", "fp32", "fp16", "int8"),
    )
    unknown: str = option(
        "error",
        "a character of the prompt that the model never saw",
        choices=("error", "skip", "nearest"),
    )
    retry: int = option(
        0, "how often sound that ran into silence, clipping or a loop is drawn again", minimum=0
    )
    rate: int = option(
        0,
        "generate: hertz of the sound that is written to files; 0 takes the model's",
        minimum=0,
        maximum=HIGHEST_RATE,
    )


@dataclass
class DynamicConfig:
    """How a trained network goes on learning from what it has predicted or coded."""

    rate: float = option(
        7e-4,
        "learning while reading: how far, roughly, every weight moves in an update",
        minimum=0,
        maximum=1,
    )
    decay: float = option(
        1e-3,
        "learning while reading: share of the way back to the trained weights after every update",
        minimum=0,
        maximum=1,
    )
    window: int = option(
        32,
        "learning while reading: symbols that are predicted between two updates",
        minimum=1,
        maximum=4096,
    )
