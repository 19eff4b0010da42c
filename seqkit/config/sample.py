"""Keys of generation."""

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
