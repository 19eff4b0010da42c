"""Keys of learning from what was just predicted."""

from dataclasses import dataclass

from seqkit.checking import option


@dataclass
class DynamicConfig:
    """How a trained network goes on learning from what it has predicted."""

    rate: float = option(
        7e-4,
        "dynamic evaluation: how far, roughly, every weight moves in an update",
        minimum=0,
        maximum=1,
    )
    decay: float = option(
        1e-3,
        "dynamic evaluation: share of the way back to the trained weights after every update",
        minimum=0,
        maximum=1,
    )
    window: int = option(
        32, "dynamic evaluation: symbols that are predicted between two updates", minimum=1
    )
