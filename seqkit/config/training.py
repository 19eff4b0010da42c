"""Keys of the update rule, of the training loop, and of a sweep of many trainings."""

from dataclasses import dataclass

from seqkit.foundation.errors import ConfigError
from seqkit.foundation.settings import option

_SHORTEST = 0.1  # seconds of a passage: three frames, where these are the longest


@dataclass
class OptimizerConfig:
    """AdamW, and its learning rate over the run, which begins with a linear warm-up."""

    lr: float = option(3e-3, "peak learning rate", above=0)
    schedule: str = option(
        "cosine",
        "the learning rate after the warm-up: a cosine down to the end of the run, or constant, "
        "best with train.average",
        choices=("cosine", "constant"),
    )
    warmup_steps: int = option(50, "steps of linear warm-up")
    weight_decay: float = option(0.01, "decoupled weight decay of the matrices")


@dataclass
class TrainConfig:
    """The training loop."""

    batch_size: int = option(32, "B, the number of lanes", minimum=1)
    sequence_length: int = option(
        64,
        "T, the steps through which gradients flow; whole frames, where those have several symbols",
        minimum=1,
    )
    max_steps: int | None = option(
        2000,
        "updates after which the training ends; null: no limit, as where only max_minutes is given",
        minimum=1,
    )
    max_epochs: int = option(
        0, "passes over the training part after which the training ends; 0: no limit"
    )
    max_minutes: float = option(
        0.0,
        "minutes of wall time after which the training ends, in place of a recipe's max_steps; "
        "0: no limit",
        maximum=1e9,
    )
    patience: int = option(
        0, "end after this many validations in a row without improvement; 0: never"
    )
    validate_every: int = option(500, "steps between validations; 0: only at the end")
    checkpoint_every: int = option(
        0,
        "steps between checkpoints, besides those at validations and every two minutes; 0: none",
    )
    average: float = option(
        0.0,
        "decay of a running average of the weights, such as 0.999, validated beside the weights "
        "themselves; the better of the two is saved as best; 0: none",
        maximum=0.999999,
    )
    calibrate: bool = option(
        False,
        "divide the logits of best by the temperature that predicts the validation part best",
    )
    shift_lanes: bool = option(
        False, "begin every epoch at another place of the data, as if its end met its beginning"
    )
    jump_after: float = option(
        0.0,
        "seconds of sound, with data.codec=spectral, that are read in one passage at most; then "
        "reading goes on where the recording is alike; 0: it is read from beginning to end",
    )
    input_noise: float = option(
        0.0,
        "share of the symbols that are read as others, drawn from all; what is to be predicted "
        "stays right",
        maximum=0.95,
    )
    reset_state: float = option(
        0.0,
        "probability with which a lane begins a step with the zero state, not with the carried one",
        maximum=0.95,
    )
    clip_norm: float = option(
        1.0,
        "largest norm of the whole gradient; beyond 100 times this, at least 100, it has exploded "
        "and the step changes no weights; 0: no limit",
    )
    precision: str = option(
        "auto",
        "precision of the matrix products; auto takes the device's fastest",
        choices=("auto", "fp32", "bf16", "fp16"),
    )
    deterministic: bool = option(
        False,
        "repeat bit for bit on the same machine: a fixed number of threads, and on a GPU only "
        "operations that repeat",
    )


def check_train(train: TrainConfig) -> None:
    """Check that the training has an end, and passages that can be read. Raises ConfigError."""
    if not (train.max_steps or train.max_epochs or train.max_minutes):
        raise ConfigError(
            "train.max_steps=null: nothing else ends the training: give train.max_minutes or "
            "train.max_epochs"
        )
    if 0 < train.jump_after < _SHORTEST:
        raise ConfigError(
            f"train.jump_after={train.jump_after:g}: in so short a passage nothing is heard: give "
            f"at least {_SHORTEST:g}, or 0 to read the recording from beginning to end"
        )
