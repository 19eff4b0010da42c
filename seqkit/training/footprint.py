"""The memory that a training takes at least, by its shapes, before any of it is allocated."""

from seqkit.config import ModelConfig
from seqkit.lstm import DTYPES
from seqkit.model.arrays import count_parameters

# Values that a layer keeps of a forward pass for each unit, step and lane.
_KEPT = {"lstm": 9, "gru": 5, "rnn_tanh": 2, "rnn_relu": 2}
_LOGIT_BYTES = 10  # logits, their log_softmax, and the gradients of both
_CHECKPOINTS = 3  # with the optimizer's state: last, previous and the one that is being written
SMALLER = "Try a smaller train.batch_size, train.sequence_length or model.hidden_size."


def of_training(
    model: ModelConfig, places: int, precision: str, *, averaged: bool
) -> tuple[int, int]:
    """The bytes that training `model`, which has its vocabulary_size, takes at least.

    They are those of its device's memory, for the T B places of a window, and those of the disk.
    """
    moments = 2 + averaged  # of AdamW, and the average
    parameters, size = count_parameters(model), DTYPES[precision].itemsize
    units = _KEPT[model.cell] * model.num_layers * model.hidden_size
    place = size * (units // model.frame) + _LOGIT_BYTES * model.vocabulary_size
    memory = 4 * parameters * (2 + moments) + places * place
    return memory, 4 * parameters * (1 + _CHECKPOINTS * (1 + moments))
