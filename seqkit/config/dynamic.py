"""Keys of learning from what was just predicted."""

from dataclasses import dataclass

from seqkit.foundation.settings import option


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
