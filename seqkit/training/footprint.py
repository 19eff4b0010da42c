"""The memory that a training takes at least, by its shapes, before any of it is allocated."""

from seqkit.config import ModelConfig
from seqkit.lstm import DTYPES
from seqkit.model.arrays import count_parameters

# Values that a layer keeps of a forward pass for each unit, step and lane.
_KEPT = {"lstm": 9, "gru": 5, "rnn_tanh": 2, "rnn_relu": 2}
_LOGIT_BYTES = 10  # logits, their log_softmax, and the gradients of both
SMALLER = "Try a smaller train.batch_size, train.sequence_length or model.hidden_size."


def of_training(model: ModelConfig, places: int, precision: str, *, averaged: bool) -> int:
    """The bytes that training `model`, with its vocabulary_size, takes on its device at least.

    It is for the T B places of a window.
    """
    moments = 2 + averaged  # of AdamW, and the average
    parameters, size = count_parameters(model), DTYPES[precision].itemsize
    units = _KEPT[model.cell] * model.num_layers * model.hidden_size
    place = size * (units // model.frame) + _LOGIT_BYTES * model.vocabulary_size
    return 4 * parameters * (2 + moments) + places * place
