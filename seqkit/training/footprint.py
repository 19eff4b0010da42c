"""The memory that a training takes at least, by its shapes, before any of it is allocated."""

from seqkit.config import Config, ModelConfig
from seqkit.foundation.device import DTYPES
from seqkit.model.arrays import count_parameters

# Values that a layer keeps of a forward pass for each unit, step and lane.
_KEPT = {"lstm": 9, "gru": 5, "rnn_tanh": 2, "rnn_relu": 2}
_LOGIT_BYTES = 10  # logits, their log_softmax, and the gradients of both
_CHECKPOINTS = 3  # with the optimizer's state: last, previous and the one that is being written
SMALLER = "Try a smaller train.batch_size, train.sequence_length or model.hidden_size."


def of_training(
    config: Config, model: ModelConfig, lanes: int, steps: int, precision: str
) -> tuple[int, int]:
    """The bytes that training `model`, which has its vocabulary_size, takes at least.

    They are those of its device's memory, in B lanes of T steps, and those of the disk.
    """
    moments = 2 if config.optimizer.kind == "adamw" else int(config.optimizer.momentum > 0)
    moments += config.train.average > 0
    parameters, size = count_parameters(model), DTYPES[precision].itemsize
    units = _KEPT[model.cell] * model.num_layers * model.hidden_size
    place = size * (units // model.frame) + _LOGIT_BYTES * model.vocabulary_size
    memory = 4 * parameters * (2 + moments) + lanes * steps * place
    return memory, 4 * parameters * (1 + _CHECKPOINTS * (1 + moments))
