"""Keys of what else a training leaves, for other programs."""

from dataclasses import dataclass

from seqkit.foundation.settings import option


@dataclass
class LogConfig:
    """Where a training is recorded, beside the files of its run."""

    tensorboard: bool = option(
        False, "record the training for TensorBoard, too (needs seqkit[tensorboard])"
    )
